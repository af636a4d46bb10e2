"""The command line: one file a command. Arguments become a call of the session, its answer goes to a view."""
