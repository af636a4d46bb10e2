"""What network ports did between two readings of their counters, and ports slower than their siblings, or down."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.nic_counters import counters
from doctor.facts.store import FactStore

NEEDS = ("nic.counters", "nic.rate", "nic.state", "nic.link_layer")
GIVES = (
    *("nic.moved", "nic.moved_downed", "nic.moved_link", "nic.moved_lost", "nic.moved_congestion"),
    *("nic.moved_receiver", "nic.slower_than_siblings", "nic.down_among_siblings"),
)

SUMS = {
    "nic.moved_link": ("link",),
    "nic.moved_lost": ("loss", "drop"),
    "nic.moved_congestion": ("congestion", "pause"),
    "nic.moved_receiver": ("receiver",),
}
DOWN = ("link_downed", "link_down_events_phy")
SIBLINGS = 3
"""So many ports of one kind with one rate are what the node was built with."""


def derive(store: FactStore) -> Iterator[Fact]:
    samples: dict[str, list[Fact]] = defaultdict(list)
    for fact in store.every("nic.counters"):
        samples[fact.entity].append(fact)
    for nic, facts in samples.items():
        if len(facts) > 1:
            yield from _moved(nic, facts[0], facts[-1])
    yield from _slower(store)
    yield from _down(store)


def _moved(nic: str, first: Fact, last: Fact) -> Iterator[Fact]:
    """Growth from the first to the last reading; a counter that shrank was reset and says nothing."""
    before, after = _counts(first), _counts(last)
    grown = {name: after[name] - before[name] for name in after if after[name] > before.get(name, after[name])}
    because = (first.source, last.source)
    yield _fact("nic.moved", tuple(f"{name} +{by}" for name, by in grown.items()), nic, because)
    yield _fact("nic.moved_downed", sum(grown.get(name, 0) for name in DOWN), nic, because)
    for fact_name, kinds in SUMS.items():
        yield _fact(fact_name, sum(by for name, by in grown.items() if counters()[name].kind in kinds), nic, because)


def _counts(fact: Fact) -> dict[str, int]:
    pairs = [str(item).partition("=") for item in fact.value] if isinstance(fact.value, tuple) else []
    return {name: int(count[:20]) for name, _, count in pairs if name in counters() and count.isdigit()}


def _slower(store: FactStore) -> Iterator[Fact]:
    """Active RDMA ports of a node whose rate lies below the one that most of its ports of that link layer have."""
    ports: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in store.every("nic.rate"):
        layer, state = store.get("nic.link_layer", fact.entity), store.get("nic.state", fact.entity)
        if layer and state and state.value == "ACTIVE" and isinstance(fact.value, int | float):
            ports[fact.entity.rsplit("/", 1)[0], str(layer.value)].append(fact)
    for facts in ports.values():
        rates = [float(fact.value) for fact in facts if isinstance(fact.value, int | float)]
        usual, times = Tally(rates).most_common(1)[0]
        if times < SIBLINGS or 2 * times <= len(facts):
            continue
        for fact, rate in zip(facts, rates, strict=True):
            if rate < usual:
                text = f"{rate / 1e9:g} GB/s of {usual / 1e9:g} GB/s"
                yield _fact("nic.slower_than_siblings", text, fact.entity, (fact.source,))


def _down(store: FactStore) -> Iterator[Fact]:
    """RDMA ports that are not active where most ports of the node with that link layer are."""
    ports: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in store.every("nic.state"):
        layer = store.get("nic.link_layer", fact.entity)
        if layer and fact.quality is not Quality.FAILED:
            ports[fact.entity.rsplit("/", 1)[0], str(layer.value)].append(fact)
    for facts in ports.values():
        active = [fact for fact in facts if fact.value == "ACTIVE"]
        if len(active) >= SIBLINGS and 2 * len(active) > len(facts):
            for fact in facts:
                if fact.value != "ACTIVE":
                    yield _fact("nic.down_among_siblings", True, fact.entity, (fact.source,))


def _fact(name: str, value: Value, nic: str, because: tuple[Source, ...]) -> Fact:
    return Fact(name, value, nic, Source("derived", text=name), quality=Quality.DERIVED, because=because)
