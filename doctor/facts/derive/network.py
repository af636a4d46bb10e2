"""What the NCCL lines of all ranks say together: hosts, versions, transports, interfaces, targets that fail, routes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_network

from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = (
    *("event:nccl.version", "event:nccl.bootstrap_using", "event:nccl.net_interface", "event:nccl.using_network"),
    *("event:nccl.channel", "event:nccl.init_start", "event:nccl.init_complete", "event:nccl.mnnvl"),
    *("event:nccl.connect_failed", "event:nccl.connect_retry", "event:nccl.recv_timed_out", "event:nccl.remote_closed"),
    *("event:nccl.ofi_provider", "event:system.route", "event:system.gid_entry", "event:system.nccl_library"),
    *("event:system.mtu", "event:torch.member", "config.nnodes", "node.interfaces", "env.NCCL_IB_GID_INDEX"),
)
GIVES = (
    *("job.multi_node", "nccl.hosts", "nccl.version", "nccl.versions", "nccl.versions_differ", "nccl.networks"),
    *("nccl.networks_differ", "nccl.interfaces", "nccl.interface_virtual", "nccl.address_shared", "nccl.init_complete"),
    *("nccl.init_incomplete", "nccl.via_socket", "nccl.via_ib", "nccl.gdr_used", "nccl.gdr_missing"),
    *("nccl.library_copies",),
    *("net.targets", "net.target_loopback", "net.target_docker", "net.target_listed", "net.target_unlisted"),
    *("net.routes_duplicate", "net.gid_not_routable", "net.gid_v2_index", "net.mtu_differs"),
    *("launch.members", "launch.members_expected"),
)

HOST = re.compile(r"(?:^|[>\s\]])([A-Za-z0-9][\w.-]{0,80}):\d+:\d+ (?:\[[\d,-]+\] )?")
VIRTUAL = re.compile(
    r"^(?:docker|virbr|veth|br-|cni|flannel|cali|vxlan|podman|lxc|lxd|tun|tap|kube|cilium|nodelocaldns|vmnet|wg|tailscale|zt)"
)
"""Names of bridges, container networks and tunnels: they do not lead to ranks on other hosts."""
HOST_EVENTS = (
    *("nccl.bootstrap_using", "nccl.net_interface", "nccl.init_start", "nccl.init_complete", "nccl.using_network"),
)
FAILED_EVENTS = ("nccl.connect_failed", "nccl.connect_retry", "nccl.recv_timed_out")
DOCKER = ip_network("172.16.0.0/12")
"""Docker takes its bridges from 172.17.0.0/16 upwards; a target here counts as such only when no host lists it."""
AUTOMATIC_GID = (2, 21)
"""NCCL chooses the RoCE GID index by itself from this version on; before, it used index 0."""


def derive(store: FactStore) -> Iterator[Fact]:
    """Facts of the job; hosts are compared within one run only, for two runs may differ on purpose."""
    yield from _hosts(store)
    yield from _versions(store)
    yield from _networks(store)
    yield from _interfaces(store)
    yield from _progress(store)
    yield from _channels(store)
    yield from _targets(store)
    yield from _tables(store)
    yield from _members(store)


def _fact(name: str, value: Value, events: Iterable[Event] = ()) -> Fact:
    sources: dict[Source, None] = dict.fromkeys(event.source for event in events)
    return Fact(name, value, source=Source("derived", text=name), quality=Quality.DERIVED, because=tuple(sources)[:8])


def host_of(event: Event) -> str:
    """The host of an NCCL line: as the log says, else from the HOST:PID:TID in front of the line."""
    found = HOST.search(event.source.text)
    return found[1] if found else event.host or ""


def _by_host(events: Iterable[Event]) -> dict[tuple[str, str], list[Event]]:
    groups: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in events:
        if host := host_of(event):
            groups[event.run, host].append(event)
    return groups


def _hosts(store: FactStore) -> Iterator[Fact]:
    named = [event for name in HOST_EVENTS for event in store.events(name)]
    groups = _by_host(named)
    runs: dict[str, set[str]] = defaultdict(set)
    for run, host in groups:
        runs[run].add(host)
    most = max(runs.values(), key=len, default=set())
    if most:
        yield _fact("nccl.hosts", len(most), [groups[key][0] for key in groups if key[1] in most])
    between = [e for e in store.events("nccl.channel") if str(e.fields.get("via", "")).startswith("NET/")]
    between += [e for e in store.events("nccl.mnnvl") if _number(e.fields.get("nodes")) > 1]
    nodes = store.get("config.nnodes")
    if len(most) > 1 or between or (nodes is not None and isinstance(nodes.value, int) and nodes.value > 1):
        shown = between[:2] or [groups[key][0] for key in groups if key[1] in most][:4]
        yield _fact("job.multi_node", True, shown)
    elif most or nodes is not None:
        yield _fact("job.multi_node", False, ())


def _versions(store: FactStore) -> Iterator[Fact]:
    events = store.events("nccl.version")
    versions: dict[str, Event] = {}
    for event in events:
        versions.setdefault(str(event.fields.get("version", "")).split("+")[0], event)
    if not versions:
        return
    yield _fact("nccl.versions", tuple(sorted(versions)), versions.values())
    yield _fact("nccl.version", min(versions, key=_version), list(versions.values())[:1])
    yield from _differ("nccl.versions_differ", events, "version")


def _differ(name: str, events: Iterable[Event], field: str) -> Iterator[Fact]:
    """Do hosts of one run disagree in `field`? Unknown when fewer than two hosts say."""
    runs: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    shown: dict[str, Event] = {}
    for (run, host), group in _by_host(events).items():
        for event in group:
            value = str(event.fields.get(field, "")).split("+")[0]
            runs[run][host].add(value)
            shown.setdefault(f"{run} {host} {value}", event)
    told = [hosts for hosts in runs.values() if len(hosts) > 1]
    if told:
        differ = any(len({frozenset(values) for values in hosts.values()}) > 1 for hosts in told)
        yield _fact(name, differ, shown.values() if differ else ())


def _networks(store: FactStore) -> Iterator[Fact]:
    events = store.events("nccl.using_network")
    networks = {str(event.fields.get("network", "")).strip(): event for event in events}
    if networks:
        yield _fact("nccl.networks", tuple(sorted(networks)), networks.values())
        yield from _differ("nccl.networks_differ", events, "network")


def _interfaces(store: FactStore) -> Iterator[Fact]:
    events = [*store.events("nccl.bootstrap_using"), *store.events("nccl.net_interface")]
    several = len({host for _, host in _by_host(events)}) > 1
    if not events:
        if store.event_names():
            yield _fact("nccl.interface_virtual", False)
        return
    pairs = dict.fromkeys(f"{host_of(e) or '?'}={e.fields.get('interface', '')}" for e in events)
    yield _fact("nccl.interfaces", tuple(pairs), events[:4])
    virtual = [e for e in events if VIRTUAL.match(str(e.fields.get("interface", "")))]
    virtual += [e for e in events if several and e.fields.get("interface") == "lo"]
    yield _fact("nccl.interface_virtual", bool(virtual), virtual)
    users: dict[tuple[str, str], dict[str, Event]] = defaultdict(dict)
    for event in events:
        users[event.run, str(event.fields.get("address", ""))].setdefault(host_of(event), event)
    shared = [e for (_, address), hosts in users.items() if address and len(hosts) > 1 for e in hosts.values()]
    if several:
        yield _fact("nccl.address_shared", bool(shared), shared)


def _progress(store: FactStore) -> Iterator[Fact]:
    complete = store.events("nccl.init_complete")
    begun = store.events("nccl.init_start") or store.events("nccl.bootstrap_using")
    if complete or begun:
        yield _fact("nccl.init_complete", bool(complete), complete[:2])
        yield _fact("nccl.init_incomplete", bool(begun) and not complete, begun[:2])


def _channels(store: FactStore) -> Iterator[Fact]:
    events = [e for e in store.events("nccl.channel") if str(e.fields.get("via", "")).startswith("NET/")]
    if not events:
        return
    by_socket = [e for e in events if "NET/Socket" in str(e.fields["via"])]
    by_ib = [e for e in events if re.match(r"NET/(?:IB|IBext)", str(e.fields["via"]))]
    yield _fact("nccl.via_socket", bool(by_socket), by_socket[:2])
    yield _fact("nccl.via_ib", bool(by_ib), by_ib[:2])
    if by_ib:
        direct = [e for e in by_ib if "GDRDMA" in str(e.fields["via"])]
        staged = [e for e in by_ib if "GDRDMA" not in str(e.fields["via"])]
        yield _fact("nccl.gdr_used", bool(direct), direct[:2])
        yield _fact("nccl.gdr_missing", bool(staged), staged[:2])


def _targets(store: FactStore) -> Iterator[Fact]:
    failed = [event for name in FAILED_EVENTS for event in store.events(name)]
    targets = {str(e.fields["address"]): e for e in failed if e.fields.get("address")}
    listed = {str(e.fields.get("address", "")) for e in store.events("nccl.bootstrap_using")}
    listed |= {str(e.fields.get("address", "")) for e in store.events("nccl.net_interface")}
    kinds: dict[str, list[Event]] = defaultdict(list)
    for address, event in targets.items():
        kinds[_kind(address, listed)].append(event)
    if targets:
        yield _fact("net.targets", tuple(sorted(targets)), targets.values())
    if not store.event_names():
        return
    for kind in ("loopback", "docker", "listed", "unlisted"):
        yield _fact(f"net.target_{kind}", bool(kinds[kind]), kinds[kind])


def _kind(address: str, listed: set[str]) -> str:
    try:
        parsed = ip_address(address.strip("[]").split("%")[0])
    except ValueError:
        return "other"
    if parsed.is_loopback:
        return "loopback"
    if parsed.version == 4 and parsed in DOCKER and address not in listed and not _same_block(address, listed):
        return "docker"
    if not listed:
        return "other"
    return "listed" if address in listed else "unlisted"


def _same_block(address: str, listed: set[str]) -> bool:
    """Does some host list an address of the same /16? Then 172.16/12 is this site's network and not Docker's."""
    return address.rsplit(".", 2)[0] in {other.rsplit(".", 2)[0] for other in listed}


def _tables(store: FactStore) -> Iterator[Fact]:
    yield from _routes(store)
    yield from _gids(store)
    mtus: dict[str, dict[int, Event]] = defaultdict(dict)
    for event in store.events("system.mtu"):
        interface = str(event.fields.get("interface", ""))
        if not VIRTUAL.match(interface) and interface != "lo":
            group = interface or "adapter"
            mtus[group].setdefault(int(_number(event.fields.get("mtu"))), event)
    if mtus:
        differ = [e for values in mtus.values() if len(values) > 1 for e in values.values()]
        yield _fact("net.mtu_differs", bool(differ), differ)
    copies: dict[str, Event] = {}
    for event in store.events("system.nccl_library"):
        place = str(event.fields.get("path", "")) or f"nvidia-nccl-cu{event.fields.get('cuda')}"
        copies.setdefault(re.sub(r"(?:libnccl\.so)[.\d]*$", "libnccl.so", place), event)
    if copies:
        yield _fact("nccl.library_copies", len(copies), copies.values())


def _routes(store: FactStore) -> Iterator[Fact]:
    routes: dict[tuple[str, str], dict[str, Event]] = defaultdict(dict)
    for event in store.events("system.route"):
        interface = str(event.fields.get("interface", ""))
        if not VIRTUAL.match(interface):
            routes[event.source.path, str(event.fields.get("subnet", ""))].setdefault(interface, event)
    if routes:
        twice = [e for interfaces in routes.values() if len(interfaces) > 1 for e in interfaces.values()]
        yield _fact("net.routes_duplicate", bool(twice), twice)


def _gids(store: FactStore) -> Iterator[Fact]:
    entries = store.events("system.gid_entry")
    if not entries:
        return
    routable = [e for e in entries if e.fields.get("version") == "v2" and _is_ipv4_gid(e)]
    if routable:
        yield _fact("net.gid_v2_index", int(_number(routable[0].fields.get("index"))), routable[:2])
    chosen = store.get("env.NCCL_IB_GID_INDEX")
    version = store.events("nccl.version")
    index = int(_number(chosen.value)) if chosen is not None else 0
    automatic = bool(version) and _version(str(version[0].fields.get("version"))) >= AUTOMATIC_GID
    if (chosen is None and (automatic or not version)) or index < 0:
        return
    used = [e for e in entries if e.fields.get("index") == index]
    wrong = bool(routable) and not any(e in routable for e in used)
    yield _fact("net.gid_not_routable", wrong, [*used[:2], *routable[:2]])


def _is_ipv4_gid(event: Event) -> bool:
    return bool(event.fields.get("address")) or "ffff:" in str(event.fields.get("gid", ""))


def _members(store: FactStore) -> Iterator[Fact]:
    runs: dict[str, list[Event]] = defaultdict(list)
    for event in store.events("torch.member"):
        runs[event.run].append(event)
    if runs:
        events = max(runs.values(), key=len)
        yield _fact("launch.members", len({e.fields.get("global_rank") for e in events}), events[:4])
        yield _fact("launch.members_expected", max(int(_number(e.fields.get("members"))) for e in events), events[:1])


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.split("+")[0])[:3])


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0
