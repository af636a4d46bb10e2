"""Has a job that runs dump what it knows, where it offers that."""
