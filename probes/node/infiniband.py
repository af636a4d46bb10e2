"""InfiniBand and RoCE ports by sysfs: state, rate, GIDs, and counters of faults at both ends of a window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import sleep

from doctor.facts.model import Fact
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.pasted import as_pasted

SPEC = ProbeSpec(
    "infiniband",
    "ports in /sys/class/infiniband: state, rate, GIDs, counters of faults and how they grow (--window SECONDS)",
    ("nic.*", "node.ib_devices", "node.ib_device_files"),
    watches=True,
)

CLASS, FILES = "/sys/class/infiniband", "/dev/infiniband"
STATES = {
    "state": "state",
    "phys_state": "phys state",
    "rate": "rate",
    "link_layer": "link layer",
    "lid": "base lid",
    "sm_lid": "sm lid",
}
MOST_GIDS = 256
UNSET, MAPPED = re.compile(r"[0:]*|fe80:[0:]*"), "0000:0000:0000:0000:0000:ffff:"


def probe(host: Host) -> Iterator[Fact]:
    try:
        devices = host.names(CLASS)
    except FileNotFoundError:
        devices = []
    except OSError as error:
        yield failed("node.ib_devices", why(error), host.node, CLASS)
        return
    yield measured("node.ib_devices", tuple(devices), host.node, CLASS, " ".join(devices) or "no RDMA devices")
    if not devices:
        return
    try:
        yield measured("node.ib_device_files", bool(host.names(FILES)), host.node, FILES)
    except OSError as error:
        yield measured("node.ib_device_files", False, host.node, FILES, f"{FILES}: {why(error)}")
    ports = [(device, port) for device in devices for port in _listed(host, f"{CLASS}/{device}/ports")]
    for device, port in ports:
        yield from _port(host, device, port)
    samples = [_sample(host, ports)]
    if samples[0]:
        sleep(host.window)
        samples.append(_sample(host, ports))
    yield from as_pasted(host, "grep . counters", "\n".join(line for lines in samples for line in lines), CLASS)


def _listed(host: Host, path: str) -> list[str]:
    try:
        return host.names(path)
    except OSError:
        return []


def _value(host: Host, path: str) -> str:
    """The first line of a file; "" where it cannot be read, as a GID that is not set."""
    try:
        return host.text(path, 4096).split("\n", 1)[0].strip()
    except OSError:
        return ""


def _port(host: Host, device: str, port: str) -> Iterator[Fact]:
    """The files of a port under the names that ibstatus prints."""
    folder = f"{CLASS}/{device}/ports/{port}"
    values = {shown: _value(host, f"{folder}/{name}") for name, shown in STATES.items()}
    values |= {
        "fw ver": _value(host, f"{CLASS}/{device}/fw_ver"),
        "ca type": _value(host, f"{CLASS}/{device}/hca_type"),
    }
    lines = [f"Infiniband device '{device}' port {port} status:"]
    lines += [f"\t{shown}:\t {value}" for shown, value in values.items() if value]
    found = as_pasted(host, "ibstatus", "\n".join(lines), folder)
    yield from (fact for fact in found if fact.name != "node.ib_devices")
    if values["link layer"] == "Ethernet":
        yield from _gids(host, device, port)


def _gids(host: Host, device: str, port: str) -> Iterator[Fact]:
    """GIDs of RoCE as show_gids prints them."""
    folder = f"{CLASS}/{device}/ports/{port}"
    rows = []
    for index in _listed(host, f"{folder}/gids")[:MOST_GIDS]:
        gid, kind, netdev = (
            _value(host, f"{folder}/{place}/{index}") for place in ("gids", "gid_attrs/types", "gid_attrs/ndevs")
        )
        if gid and not UNSET.fullmatch(gid):
            version = "v2" if "v2" in kind else "v1"
            rows.append(f"{device} {port} {index} {gid} {_ipv4(gid)} {version} {netdev}".replace("  ", " "))
    yield from as_pasted(host, "show_gids", "\n".join(rows), f"{folder}/gids")


def _ipv4(gid: str) -> str:
    """The address in 0000:...:ffff:0a00:0001, "" for another GID."""
    if not gid.startswith(MAPPED):
        return ""
    digits = gid.removeprefix(MAPPED).replace(":", "")
    return ".".join(str(byte) for byte in bytes.fromhex(digits)) if re.fullmatch(r"[0-9a-f]{8}", digits) else ""


def _sample(host: Host, ports: list[tuple[str, str]]) -> list[str]:
    lines = []
    for device, port in ports:
        for kind in ("counters", "hw_counters"):
            folder = f"{CLASS}/{device}/ports/{port}/{kind}"
            values = ((name, _value(host, f"{folder}/{name}")) for name in _listed(host, folder))
            lines += [f"{folder}/{name}: {value}" for name, value in values if value.isdecimal()]
    return lines
