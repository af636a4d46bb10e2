"""Readers of what a job left behind: logs, configurations, node dumps, tables."""
