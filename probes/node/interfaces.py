"""Network interfaces: state, MTU, rate, addresses and routes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from doctor.facts.model import Fact
from probes.node.interface.addresses import addresses, default_interface
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.pasted import as_pasted

SPEC = ProbeSpec(
    "interfaces",
    "/sys/class/net, `ip addr`, `ip route`, /etc/hosts: state, MTU, rate, addresses, routes",
    (
        *("nic.state", "nic.mtu", "nic.rate", "node.interface_names", "node.interfaces", "node.default_interface"),
        *("node.routes_duplicate", "node.hosts_entries", "node.hosts_loopback"),
    ),
)

CLASS, HOSTS = "/sys/class/net", "/etc/hosts"


def probe(host: Host) -> Iterator[Fact]:
    yield from _by_sysfs(host)
    for command, name in ((("ip", "addr"), "node.interfaces"), (("ip", "route"), "node.default_interface")):
        try:
            ran = host.run(command, 1.0)
        except FileNotFoundError as error:
            yield from _by_kernel(host, name, f"ip: {why(error)}")
            continue
        except TimeoutError as error:
            yield failed(name, str(error), host.node, " ".join(command))
            continue
        except OSError as error:
            yield failed(name, f"ip: {why(error)}", host.node, " ".join(command))
            continue
        if ran.status:
            yield failed(name, ran.error.strip()[:200] or f"ip ended with {ran.status}", host.node, " ".join(command))
            continue
        found = as_pasted(host, " ".join(command), ran.out)
        # state and MTU are those of sysfs, which is there without the program too
        yield from (fact for fact in found if fact.name not in ("nic.state", "nic.mtu", "node.interface_names"))
    try:
        yield from as_pasted(host, f"cat {HOSTS}", host.text(HOSTS), HOSTS)
    except OSError as error:
        yield failed("node.hosts_entries", why(error), host.node, HOSTS)


def _by_kernel(host: Host, name: str, reason: str) -> Iterator[Fact]:
    """Of this network namespace alone, so not where the host's files lie elsewhere."""
    try:
        if host.root != Path("/"):
            raise OSError
        if name == "node.interfaces":
            shown = tuple(f"{name}={address}" for name, address in addresses())
            yield measured("node.interfaces", shown, host.node, "SIOCGIFCONF", " ".join(shown))
        elif found := default_interface(host.text("/proc/net/route")):
            yield measured("node.default_interface", found, host.node, "/proc/net/route", found)
    except (OSError, ValueError):
        yield failed(name, reason, host.node, "ip")


def _by_sysfs(host: Host) -> Iterator[Fact]:
    try:
        names = host.names(CLASS)
    except OSError as error:
        yield failed("node.interface_names", why(error), host.node, CLASS)
        return
    names = [name for name in names if host.path(f"{CLASS}/{name}/mtu").exists()]
    yield measured("node.interface_names", tuple(names), host.node, CLASS, " ".join(names))
    for name in names:
        if name == "lo":
            continue
        folder, nic = f"{CLASS}/{name}", host.nic(name)
        mtu, state, speed = (_value(host, f"{folder}/{key}") for key in ("mtu", "operstate", "speed"))
        if state in ("up", "down", "lowerlayerdown"):
            yield measured("nic.state", "UP" if state == "up" else "DOWN", nic, f"{folder}/operstate", state, 1)
        if mtu.isdecimal():
            yield measured("nic.mtu", int(mtu), nic, f"{folder}/mtu", mtu, 1)
        # Mb/s; -1 and errors stand for a link that is down, and virtual interfaces have no rate
        if speed.isdecimal() and int(speed) > 0 and host.path(f"{folder}/device").exists():
            yield measured("nic.rate", int(speed) * 1e6 / 8, nic, f"{folder}/speed", speed, 1)


def _value(host: Host, path: str) -> str:
    try:
        return host.text(path, 4096)
    except OSError:
        return ""
