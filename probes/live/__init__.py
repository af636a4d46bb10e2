"""Probes that put load on the machine: they run only when they are asked for."""
