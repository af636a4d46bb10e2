"""Addresses and the default route as the kernel tells them, where a container has no program `ip`."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from ipaddress import IPv4Interface

SIOCGIFCONF, SIOCGIFNETMASK = 0x8912, 0x891B
"""linux/sockios.h"""
ENTRY, NAME, ADDRESS = 40, 16, slice(20, 24)
"""struct ifreq of 64-bit Linux: a name of 16 bytes, then an address of which 4 bytes follow family and port."""
MOST = 1024


def addresses() -> list[tuple[str, IPv4Interface]]:
    """IPv4 addresses of this network namespace, in the order of the interfaces' index; OSError when refused."""
    room = array.array("B", bytes(ENTRY * MOST))
    place, _ = room.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        answer = fcntl.ioctl(asked, SIOCGIFCONF, struct.pack("iL", len(room), place))
        used, _ = struct.unpack("iL", answer)
        data = room.tobytes()[:used]
        found = []
        for start in range(0, used - ENTRY + 1, ENTRY):
            entry = data[start : start + ENTRY]
            name = entry[:NAME].split(b"\0", 1)[0]
            mask = fcntl.ioctl(asked, SIOCGIFNETMASK, struct.pack("40s", name))[ADDRESS]
            address = f"{socket.inet_ntoa(entry[ADDRESS])}/{socket.inet_ntoa(mask)}"
            found.append((name.decode("ascii", errors="replace"), IPv4Interface(address)))
    return found


def default_interface(table: str) -> str:
    """The interface of the default route with the least metric in the text of /proc/net/route, "" without one."""
    rows = [line.split() for line in table.splitlines()[1:]]
    routes = [(int(row[6]), row[0]) for row in rows if len(row) > 7 and row[1] == row[7] == "00000000"]
    return min(routes)[1] if routes else ""
