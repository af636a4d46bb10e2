"""Processes that talk to each other over TCP: ranks that no environment variable tells of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from probes.node.interface.host import Host

ESTABLISHED = "01"
"""State of a connection in /proc/net/tcp (include/net/tcp_states.h)."""
MOST_TABLE = 8 << 20
_SOCKET = re.compile(r"socket:\[(\d{1,20})\]")
_LOOPBACK = re.compile(r"(?:[0-9A-F]{6}7F|0{24}(?:[0-9A-F]{6}7F|01000000)|0{16}FFFF0000[0-9A-F]{6}7F):")
"""Addresses as the table writes them: words in the order of a little-endian host."""


@dataclass(frozen=True, slots=True)
class Circle:
    """Processes that are connected with each other; `alone` if they have no connection to anybody else but loopback."""

    pids: tuple[int, ...]
    alone: bool


def circles(host: Host, pids: Iterable[int]) -> list[Circle]:
    """Which of `pids` are connected, two or more each. A socket that a process shares, by a fork, with another counts
    for neither: so workers of a data loader, which hold the sockets of their rank, are in none."""
    sockets = {pid: _sockets(host, pid) for pid in pids}
    owners: dict[str, int] = {}
    shared: set[str] = set()
    for pid, inodes in sockets.items():
        shared |= inodes & owners.keys()
        owners |= dict.fromkeys(inodes, pid)
    ends: dict[tuple[str, str], int] = {}
    for pid in sockets:
        table = _table(host, pid)
        ends |= {table[inode]: pid for inode in sockets[pid] - shared if inode in table}
    joined = {pid: {pid} for pid in sockets}
    for (local, remote), pid in ends.items():
        peer = ends.get((remote, local))
        if peer is not None and joined[peer] is not joined[pid]:
            joined[pid] |= joined[peer]
            for other in joined[pid]:
                joined[other] = joined[pid]
    outside = {
        pid for (local, remote), pid in ends.items() if (remote, local) not in ends and not _LOOPBACK.match(remote)
    }
    distinct = {id(group): group for group in joined.values() if len(group) > 1}
    return [Circle(tuple(sorted(group)), not group & outside) for group in distinct.values()]


def _sockets(host: Host, pid: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for number in os.listdir(host.path(f"/proc/{pid}/fd")):
            with suppress(OSError):
                if named := _SOCKET.fullmatch(os.readlink(host.path(f"/proc/{pid}/fd/{number}"))):
                    found.add(named[1])
    return found


def _table(host: Host, pid: int) -> Mapping[str, tuple[str, str]]:
    """Both ends of the connections of the process's network namespace, by inode."""
    found: dict[str, tuple[str, str]] = {}
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in host.text(f"/proc/{pid}/net/{name}", MOST_TABLE).splitlines()[1:]:
                fields = line.split()
                if len(fields) > 9 and fields[3] == ESTABLISHED:
                    found[fields[9]] = (fields[1], fields[2])
    return found
