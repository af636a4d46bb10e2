"""Collective tests between live ranks: bandwidth, latency, correctness, and which host or link is slow."""
