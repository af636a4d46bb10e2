"""What a probe of the node is: its description, the host it looks at, and what it may give."""
