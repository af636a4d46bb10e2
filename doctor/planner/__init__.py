"""The planner: what a layout costs in memory, communication, bubble and time, and which other layouts there are."""
