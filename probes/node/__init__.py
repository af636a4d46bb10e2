"""Probes that look at the node they run on: one module a probe, found by listing this folder."""
