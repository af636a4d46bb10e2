"""Brings probes and the engine together: files in, report out. Every command drives this."""
