"""The interface that NCCL would take on each node for its first connections, and why: without a GPU and before a job.

NCCL 2.x, src/misc/socket.cc (ncclFindInterfaces) and src/os/linux.cc: what NCCL_SOCKET_IFNAME selects, else the first
of these that is there: `ib*`, the subnet of NCCL_COMM_ID, anything but docker*, lo* and virbr*, then docker*, lo*,
virbr*. Only interfaces that run count, in the order of their index, those with an IPv4 address first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, ip_address

from doctor.facts.derive.nccl_environment import matches
from doctor.facts.derive.network_lines import VIRTUAL, number
from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = ("node.interfaces", "nic.state", "env.*", "job.multi_node", "node.interface_names")
GIVES = (
    "node.nccl_interface",
    "node.nccl_interface_why",
    "nccl.interface_choice_wrong",
    "nccl.interface_choices_differ",
)

LAST_RESORT = "^docker,lo,virbr"
SIZES = (("env.WORLD_SIZE", "env.LOCAL_WORLD_SIZE"), ("env.SLURM_NTASKS", "env.SLURM_NTASKS_PER_NODE"))


@dataclass(frozen=True, slots=True)
class Choice:
    """`name` is "" where nothing matches; `why` ends the sentence "NCCL takes it because"."""

    name: str
    why: str
    address: IPv4Interface | None = None


def choose(interfaces: Sequence[tuple[str, IPv4Interface]], setting: str = "", comm_id: str = "") -> Choice:
    """Which of `interfaces`, in the order of their index, NCCL takes for these two variables."""

    def first(fits: Callable[[str], bool], why: str) -> Choice | None:
        return next((Choice(name, why, address) for name, address in interfaces if fits(name)), None)

    if len(setting) > 1:
        named = first(lambda name: matches(setting, name), f"it is the first that NCCL_SOCKET_IFNAME={setting} selects")
        return named or Choice("", f"NCCL_SOCKET_IFNAME={setting} selects none that is up and has an address")
    found = first(lambda name: name.startswith("ib"), "names with ib come first")
    if found is None and (target := _target(comm_id)) is not None:
        near = [(name, own) for name, own in interfaces if target in own.network]
        found = Choice(near[0][0], f"NCCL_COMM_ID={comm_id} is in its subnet", near[0][1]) if near else None
    found = found or first(lambda name: matches(LAST_RESORT, name), "it is the first that is no docker, lo or virbr")
    for prefix in ("docker", "lo", "virbr"):
        found = found or first(lambda name: name.startswith(prefix), "there is no other")  # noqa: B023
    return found or Choice("", "no interface is up and has an address")


def _target(comm_id: str) -> object:
    try:
        return ip_address(comm_id.rpartition(":")[0])
    except ValueError:
        return None


def derive(store: FactStore) -> Iterator[Fact]:
    chosen: dict[str, tuple[Choice, Fact]] = {}
    for fact in store.every("node.interfaces"):
        if fact.quality is not Quality.FAILED and fact.entity not in chosen:
            choice = _on(store, fact)
            if choice is not None:
                chosen[fact.entity] = (choice, fact)
    for node, (choice, fact) in chosen.items():
        yield _fact("node.nccl_interface", choice.name, node, (fact,), f"{choice.name or 'none'}: {choice.why}")
        yield _fact("node.nccl_interface_why", choice.why, node, (fact,))
    if not chosen or not _several_nodes(store):
        return
    wrong = {node: pair for node, pair in chosen.items() if pair[0].name in ("", "lo") or VIRTUAL.match(pair[0].name)}
    shown = tuple(f"{node.removeprefix('node:')}: {c.name or 'none'} ({c.why})" for node, (c, _) in wrong.items())
    yield _fact("nccl.interface_choice_wrong", shown, "job", [fact for _, fact in wrong.values()])
    yield _fact("nccl.interface_choices_differ", _differ(chosen), "job", [fact for _, fact in chosen.values()])


def _on(store: FactStore, fact: Fact) -> Choice | None:
    """None where the node's settings ask for what was not read, such as IPv6, or only some interfaces were listed."""
    family = store.get("env.NCCL_SOCKET_FAMILY", fact.entity)
    if family is not None and family.value == "AF_INET6":
        return None
    host = fact.entity.removeprefix("node:")
    running = []
    for text in fact.value if isinstance(fact.value, tuple) else ():
        name, _, address = str(text).partition("=")
        name = name.split(":")[0].split("@")[0]
        state = store.get("nic.state", f"nic:{host}/{name}")
        try:
            own = IPv4Interface(address)
        except ValueError:
            continue
        if not (state and state.entity.startswith("nic:") and state.value == "DOWN"):
            running.append((name, own))
    if not any(own.is_loopback for _, own in running):
        return None
    setting, comm_id = (store.get(f"env.{name}", fact.entity) for name in ("NCCL_SOCKET_IFNAME", "NCCL_COMM_ID"))
    told = str(setting.value).strip() if setting else ""
    return None if "$" in told else choose(running, told, str(comm_id.value) if comm_id else "")


def _several_nodes(store: FactStore) -> bool:
    known = store.get("job.multi_node")
    if known is not None:
        return known.value is True
    for all_ranks, here in SIZES:
        world, local = store.get(all_ranks), store.get(here)
        if world and local and 0 < number(local.value) < number(world.value):
            return True
    return False


def _differ(chosen: dict[str, tuple[Choice, Fact]]) -> tuple[str, ...]:
    """`n1: ib0 10.1.0.1/16`, where nodes take interfaces of other kinds whose networks have nothing in common."""
    taken = {node: choice for node, (choice, _) in chosen.items() if choice.address is not None}
    kinds = {re.sub(r"\d.*", "", choice.name) for choice in taken.values()}
    networks = {choice.address.network for choice in taken.values() if choice.address is not None}
    if len(taken) < 2 or len(kinds) < 2 or len(networks) < 2:
        return ()
    return tuple(f"{node.removeprefix('node:')}: {choice.name} {choice.address}" for node, choice in taken.items())[:8]


def _fact(name: str, value: Value, entity: str, facts: Sequence[Fact], text: str = "") -> Fact:
    because = tuple(dict.fromkeys(fact.source for fact in facts))[:8]
    return Fact(name, value, entity, Source("derived", text=text or name), quality=Quality.DERIVED, because=because)
