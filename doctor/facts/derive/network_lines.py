"""What the derivations about networks share: hosts and interfaces of NCCL lines, facts with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from doctor.facts.model import Event, Fact, Quality, Source, Value

VIRTUAL = re.compile(
    r"^(?:docker|virbr|veth|br-|cni|flannel|cali|vxlan|podman|lxc|lxd|tun|tap|kube|cilium|nodelocaldns|vmnet|wg|tailscale|zt)"
)
"""Names of bridges, container networks and tunnels: they do not lead to ranks on other hosts."""
HOST = re.compile(r"(?:^|[>\s\]])([A-Za-z0-9][\w.-]{0,80}):\d+:\d+ (?:\[[\d,-]+\] )?")
SHOWN = 8
"""Lines that a derived fact quotes; more of the same kind prove nothing more."""


def derived(name: str, value: Value, events: Iterable[Event] = (), sources: Iterable[Source] = ()) -> Fact:
    """A fact of the job that follows from `events` and `sources`."""
    because = tuple(dict.fromkeys([*(event.source for event in events), *sources]))
    return Fact(name, value, source=Source("derived", text=name), quality=Quality.DERIVED, because=because[:SHOWN])


def host_of(event: Event) -> str:
    """The host of an NCCL line: from the HOST:PID:TID in front of it, else as the log says."""
    return _host_in(event.source.text) or event.host or ""


@lru_cache(maxsize=8192)
def _host_in(text: str) -> str:
    found = HOST.search(text)
    return found[1] if found else ""


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.split("+")[0])[:3])


def number(value: object) -> float:
    """`value` as a number; 0 when it is none."""
    try:
        return float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0
