"""The terminal interface: it shows a session and passes on what a person does; it knows nothing of its own."""
