"""Facts computed from other facts; one file a topic."""
