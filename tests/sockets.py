"""Ports for servers that tests start."""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOWEST = 12_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port of the loopback that nobody listens on, below those that the kernel gives away by itself: until the server
    has it, no connection of another test can take it."""
    first = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32_768
    chance = random.SystemRandom()
    for _ in range(1000):
        port = chance.randrange(LOWEST, max(first, LOWEST + 1000))
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("no port is free")
