"""What tables of the hosts say together: routes, GID tables, MTUs, copies of the NCCL library."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.facts.derive.network_lines import VIRTUAL, derived, number, version
from doctor.facts.model import Event, Fact, Source
from doctor.facts.store import FactStore

NEEDS = (
    *("event:system.route", "event:system.gid_entry", "event:system.nccl_library", "event:system.mtu"),
    *("event:nccl.version", "env.NCCL_IB_GID_INDEX", "nic.gids", "nic.mtu", "nic.link_layer"),
    *("node.routes_duplicate", "node.nccl_libraries", "pip.nccl_wheels"),
)
GIVES = ("net.routes_duplicate", "net.gid_not_routable", "net.gid_v2_index", "net.mtu_differs", "nccl.library_copies")

LIBRARY = re.compile(r"libnccl\.so[.\d]*$")
GID = re.compile(r"^(\d+) (\S*v?\d\S*) (\S+)")
AUTOMATIC_GID = (2, 21)
"""NCCL chooses the RoCE GID index by itself from this version on; before, it used index 0."""


@dataclass(frozen=True, slots=True)
class GidEntry:
    """One entry of a GID table; routable is one of RoCE v2 with an IPv4 address."""

    index: int
    routable: bool
    source: Source


def derive(store: FactStore) -> Iterator[Fact]:
    """Facts of the job about its hosts: what one of them shows may be the fault of all."""
    yield from _routes(store)
    yield from _gids(store)
    yield from _mtus(store)
    copies: dict[str, Source] = {}
    for event in store.events("system.nccl_library"):
        place = str(event.fields.get("path", "")) or f"nvidia-nccl-cu{event.fields.get('cuda')}"
        copies.setdefault(LIBRARY.sub("libnccl.so", place), event.source)
    for name in ("node.nccl_libraries", "pip.nccl_wheels"):
        for fact in store.every(name):
            for item in fact.value if isinstance(fact.value, tuple) else (fact.value,):
                copies.setdefault(LIBRARY.sub("libnccl.so", str(item).split("==")[0]), fact.source)
    if copies:
        yield derived("nccl.library_copies", len(copies), sources=copies.values())


def _mtus(store: FactStore) -> Iterator[Fact]:
    """Do equal cards have different MTUs? RDMA ports are compared by link layer, interfaces by name."""
    mtus: dict[str, dict[int, Source]] = defaultdict(dict)
    for event in store.events("system.mtu"):
        interface = str(event.fields.get("interface", ""))
        if not VIRTUAL.match(interface) and interface != "lo":
            mtus[interface or "adapter"].setdefault(int(number(event.fields.get("mtu"))), event.source)
    for fact in store.every("nic.mtu"):
        layer = store.get("nic.link_layer", fact.entity)
        device = fact.entity.rsplit("/", 1)[-1]
        if layer is not None or not VIRTUAL.match(device):
            mtus[str(layer.value) if layer is not None else device].setdefault(int(number(fact.value)), fact.source)
    if mtus:
        differ = [source for values in mtus.values() if len(values) > 1 for source in values.values()]
        yield derived("net.mtu_differs", bool(differ), sources=differ)


def _routes(store: FactStore) -> Iterator[Fact]:
    routes: dict[tuple[str, str], dict[str, Event]] = defaultdict(dict)
    for event in store.events("system.route"):
        interface = str(event.fields.get("interface", ""))
        if not VIRTUAL.match(interface):
            routes[event.source.path, str(event.fields.get("subnet", ""))].setdefault(interface, event)
    twice = [e for interfaces in routes.values() if len(interfaces) > 1 for e in interfaces.values()]
    dumps = list(store.every("node.routes_duplicate"))
    found = [fact.source for fact in dumps if isinstance(fact.value, tuple) and fact.value]
    if routes or dumps:
        yield derived("net.routes_duplicate", bool(twice or found), twice, found)


def _gids(store: FactStore) -> Iterator[Fact]:
    entries = list(_gid_entries(store))
    if not entries:
        return
    routable = [entry for entry in entries if entry.routable]
    if routable:
        yield derived("net.gid_v2_index", routable[0].index, sources=[routable[0].source])
    chosen = store.get("env.NCCL_IB_GID_INDEX")
    banners = store.events("nccl.version")
    index = int(number(chosen.value)) if chosen is not None else 0
    automatic = bool(banners) and version(str(banners[0].fields.get("version"))) >= AUTOMATIC_GID
    if (chosen is None and (automatic or not banners)) or index < 0:
        return
    used = [entry for entry in entries if entry.index == index]
    wrong = bool(routable) and not any(entry.routable for entry in used)
    yield derived("net.gid_not_routable", wrong, sources=[entry.source for entry in (*used[:2], *routable[:2])])


def _gid_entries(store: FactStore) -> Iterator[GidEntry]:
    for event in store.events("system.gid_entry"):
        ipv4 = bool(event.fields.get("address")) or "ffff:" in str(event.fields.get("gid", ""))
        index = int(number(event.fields.get("index")))
        yield GidEntry(index, event.fields.get("version") == "v2" and ipv4, event.source)
    for fact in store.every("nic.gids"):
        for item in fact.value if isinstance(fact.value, tuple) else (fact.value,):
            if found := GID.match(str(item)):
                ipv4 = found[3] == "ipv4" or "." in found[3] or "ffff:" in found[3]
                yield GidEntry(int(found[1]), "2" in found[2] and ipv4, fact.source)
