"""What the NCCL lines of all ranks say together: hosts, versions, transports, interfaces, targets that fail."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_network

from doctor.facts.derive.network_lines import VIRTUAL, derived, host_of, number, version
from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore

NEEDS = (
    *("event:nccl.version", "event:nccl.bootstrap_using", "event:nccl.net_interface", "event:nccl.using_network"),
    *("event:nccl.channel", "event:nccl.init_start", "event:nccl.init_complete", "event:nccl.mnnvl"),
    *("event:nccl.connect_failed", "event:nccl.connect_retry", "event:nccl.recv_timed_out"),
    *("event:nccl.socket_using", "event:torch.member", "config.nnodes"),
)
GIVES = (
    *("job.multi_node", "nccl.hosts", "nccl.version", "nccl.versions", "nccl.versions_differ", "nccl.networks"),
    *("nccl.networks_differ", "nccl.interfaces", "nccl.interface_virtual", "nccl.address_shared", "nccl.init_complete"),
    *("nccl.init_incomplete", "nccl.via_socket", "nccl.via_ib", "nccl.gdr_used", "nccl.gdr_missing"),
    *("nccl.gdr_differs", "nccl.socket_virtual", "nccl.address_ranges_differ"),
    *("net.targets", "net.target_loopback", "net.target_link_local", "net.target_docker", "net.target_listed"),
    "net.target_unlisted",
    *("launch.members", "launch.members_expected", "launch.members_repeated"),
)

HOST_EVENTS = (
    *("nccl.bootstrap_using", "nccl.net_interface", "nccl.init_start", "nccl.init_complete", "nccl.using_network"),
)
FAILED_EVENTS = ("nccl.connect_failed", "nccl.connect_retry", "nccl.recv_timed_out")
SOCKET_NAME = re.compile(r"\[\d+\]([^:\s]+):")
DOCKER = ip_network("172.16.0.0/12")
"""Docker takes its bridges from 172.17.0.0/16 upwards; a target here counts as such only when no host lists it."""
GPUS_OF_A_HOST = 8
"""A world of so few ranks whose channels never leave a host fits into one."""


def derive(store: FactStore) -> Iterator[Fact]:
    """Facts of the job; hosts are compared within one run only, for two runs may differ on purpose."""
    yield from _hosts(store)
    yield from _versions(store)
    yield from _networks(store)
    yield from _interfaces(store)
    yield from _progress(store)
    yield from _channels(store)
    yield from _targets(store)
    yield from _members(store)


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
        yield derived("nccl.hosts", len(most), [groups[key][0] for key in groups if key[1] in most])
    between = [e for e in store.events("nccl.channel") if str(e.fields.get("via", "")).startswith("NET/")]
    between += [e for e in store.events("nccl.mnnvl") if number(e.fields.get("nodes")) > 1]
    nodes = store.get("config.nnodes")
    stated = number(nodes.value) if nodes is not None else 0
    if len(most) > 1 or between or stated > 1:
        shown = between[:2] or [groups[key][0] for key in groups if key[1] in most][:4]
        yield derived("job.multi_node", True, shown)
    elif stated == 1 or _all_on_one_host(store):
        yield derived("job.multi_node", False)


def _all_on_one_host(store: FactStore) -> bool:
    """Do the communicators have no more ranks than this log shows, or do channels stay within the host?"""
    if any(number(event.fields.get("nodes")) == 1 for event in store.events("nccl.mnnvl")):
        return True
    inits = [*store.events("nccl.init_complete"), *store.events("nccl.init_start")]
    ranks = {event.fields.get("comm_rank") for event in inits}
    world = max((number(event.fields.get("nranks")) for event in inits), default=0)
    return bool(inits) and (len(ranks) >= world or (world <= GPUS_OF_A_HOST and bool(store.events("nccl.channel"))))


def _versions(store: FactStore) -> Iterator[Fact]:
    events = store.events("nccl.version")
    versions: dict[str, Event] = {}
    for event in events:
        versions.setdefault(str(event.fields.get("version", "")).split("+")[0], event)
    if not versions:
        if store.event_names():
            yield derived("nccl.versions_differ", False)
        return
    yield derived("nccl.versions", tuple(sorted(versions)), versions.values())
    yield derived("nccl.version", min(versions, key=version), list(versions.values())[:1])
    yield from _differ("nccl.versions_differ", events, "version")


def _differ(name: str, events: Iterable[Event], field: str) -> Iterator[Fact]:
    """Do hosts of one run disagree in `field`? Not as long as fewer than two hosts say."""
    runs: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    shown: dict[str, Event] = {}
    for (run, host), group in _by_host(events).items():
        for event in group:
            value = str(event.fields.get(field, "")).split("+")[0]
            runs[run][host].add(value)
            shown.setdefault(f"{run} {host} {value}", event)
    told = [hosts for hosts in runs.values() if len(hosts) > 1]
    differ = any(len({frozenset(values) for values in hosts.values()}) > 1 for hosts in told)
    yield derived(name, differ, shown.values() if differ else ())


def _networks(store: FactStore) -> Iterator[Fact]:
    events = store.events("nccl.using_network")
    networks = {str(event.fields.get("network", "")).strip(): event for event in events}
    if networks:
        yield derived("nccl.networks", tuple(sorted(networks)), networks.values())
    if store.event_names():
        yield from _differ("nccl.networks_differ", events, "network")


def _interfaces(store: FactStore) -> Iterator[Fact]:
    events = [*store.events("nccl.bootstrap_using"), *store.events("nccl.net_interface")]
    several = len({host for _, host in _by_host(events)}) > 1
    if not events:
        if store.event_names():
            for name in ("interface_virtual", "socket_virtual", "address_shared", "address_ranges_differ"):
                yield derived(f"nccl.{name}", False)
        return
    pairs = dict.fromkeys(f"{host_of(e) or '?'}={e.fields.get('interface', '')}" for e in events)
    yield derived("nccl.interfaces", tuple(pairs), events[:4])
    virtual = [e for e in events if VIRTUAL.match(str(e.fields.get("interface", "")))]
    virtual += [e for e in events if several and e.fields.get("interface") == "lo"]
    yield derived("nccl.interface_virtual", bool(virtual), virtual)
    sockets = store.events("nccl.socket_using")
    odd = [e for e in sockets if any(map(VIRTUAL.match, SOCKET_NAME.findall(str(e.fields.get("interfaces", "")))))]
    yield derived("nccl.socket_virtual", bool(odd), odd)
    yield from _addresses(events, several)


def _addresses(events: list[Event], several: bool) -> Iterator[Fact]:
    """Addresses that cannot be those of different hosts of one network: shared ones, or of unrelated ranges."""
    users: dict[tuple[str, str], dict[str, Event]] = defaultdict(dict)
    for event in events:
        users[event.run, str(event.fields.get("address", ""))].setdefault(host_of(event), event)
    shared = [e for (_, address), hosts in users.items() if address and len(hosts) > 1 for e in hosts.values()]
    ranges = {str(e.fields.get("address", "")).split(".")[0]: e for e in events if several}
    yield derived("nccl.address_shared", several and bool(shared), shared if several else ())
    yield derived("nccl.address_ranges_differ", len(ranges) > 1, ranges.values() if len(ranges) > 1 else ())


def _progress(store: FactStore) -> Iterator[Fact]:
    complete = store.events("nccl.init_complete")
    begun = store.events("nccl.init_start") or store.events("nccl.bootstrap_using")
    if complete or begun:
        yield derived("nccl.init_complete", bool(complete), complete[:2])
        yield derived("nccl.init_incomplete", bool(begun) and not complete, begun[:2])


def _channels(store: FactStore) -> Iterator[Fact]:
    events = [e for e in store.events("nccl.channel") if str(e.fields.get("via", "")).startswith("NET/")]
    if not events:
        return
    by_socket = [e for e in events if "NET/Socket" in str(e.fields["via"])]
    by_ib = [e for e in events if re.match(r"NET/(?:IB|IBext)", str(e.fields["via"]))]
    yield derived("nccl.via_socket", bool(by_socket), by_socket[:2])
    yield derived("nccl.via_ib", bool(by_ib), by_ib[:2])
    if by_ib:
        direct = [e for e in by_ib if "GDRDMA" in str(e.fields["via"])]
        staged = [e for e in by_ib if "GDRDMA" not in str(e.fields["via"])]
        yield derived("nccl.gdr_used", bool(direct), direct[:2])
        yield derived("nccl.gdr_missing", bool(staged), staged[:2])
        use = {host for _, host in _by_host(direct)}
        never = [e for (_, host), group in _by_host(staged).items() if host not in use for e in group[:1]]
        yield derived("nccl.gdr_differs", bool(use and never), [*direct[:1], *never] if use else ())


def _targets(store: FactStore) -> Iterator[Fact]:
    failed = [event for name in FAILED_EVENTS for event in store.events(name)]
    targets = {str(e.fields["address"]): e for e in failed if e.fields.get("address")}
    named = [*store.events("nccl.bootstrap_using"), *store.events("nccl.net_interface")]
    listed = {str(e.fields.get("address", "")) for e in named}
    kinds: dict[str, list[Event]] = defaultdict(list)
    for address, event in targets.items():
        kinds[_kind(address, listed)].append(event)
    if targets:
        yield derived("net.targets", tuple(sorted(targets)), targets.values())
    if not store.event_names():
        return
    if len({host for _, host in _by_host(named)}) < 2 and kinds["unlisted"]:
        # the log of one host lists no addresses of the others, so nothing follows from an address it does not list
        kinds["other"] += kinds.pop("unlisted")
    for kind in ("loopback", "link_local", "docker", "listed", "unlisted"):
        if kind != "listed" or kinds["listed"] or not kinds["other"]:
            yield derived(f"net.target_{kind}", bool(kinds[kind]), kinds[kind])


def _kind(address: str, listed: set[str]) -> str:
    try:
        parsed = ip_address(address.strip("[]").split("%")[0])
    except ValueError:
        return "other"
    if parsed.is_loopback:
        return "loopback"
    if parsed.is_link_local:
        return "link_local"
    if parsed.version == 4 and parsed in DOCKER and address not in listed and not _same_block(address, listed):
        return "docker"
    if not listed:
        return "other"
    return "listed" if address in listed else "unlisted"


def _same_block(address: str, listed: set[str]) -> bool:
    """Does some host list an address of the same /16? Then 172.16/12 is this site's network and not Docker's."""
    return address.rsplit(".", 2)[0] in {other.rsplit(".", 2)[0] for other in listed}


def _members(store: FactStore) -> Iterator[Fact]:
    runs: dict[str, list[Event]] = defaultdict(list)
    for event in store.events("torch.member"):
        runs[event.run].append(event)
    if runs:
        events = max(runs.values(), key=len)
        ranks = {e.fields.get("global_rank") for e in events}
        yield derived("launch.members", len(ranks), events[:4])
        yield derived("launch.members_repeated", len(events) > len(ranks), events[:4])
        yield derived("launch.members_expected", max(int(number(e.fields.get("members"))) for e in events), events[:1])
