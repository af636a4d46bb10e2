"""Watching a job whose logs still grow: what is said of it while it runs."""
