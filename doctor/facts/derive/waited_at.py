"""Where in the job's own code each rank waited until its time-out: whoever waits at another place makes another call.

A rank that waits in a collective which its peers do not make times out as they do, and all print the same message. What
differs is the line of the program at which each stands. This tells something only where all ranks are in one group and
wait: one that is silent or failed by itself explains the waits of the others, and ranks of several groups, or stages of
a pipeline, stand at several lines as a matter of course.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from doctor.facts.derive.gone import MOST, failed
from doctor.facts.model import Event, Fact, Quality, Value
from doctor.facts.store import FactStore

TIMED_OUT = ("gloo.timeout", "torch.watchdog_timeout", "torch.barrier_timeout")
LOST = ("gloo.peer_closed", "nccl.remote_closed")
GROUPS = ("config.tp", "config.pp", "config.cp", "config.ep")
SEVERAL = re.compile(r"\bi?(?:send|recv)\b|_(?:send|recv)|(?:send|recv)_|p2p|pipeline|\bgroup\s*=")
"""In the code, or the name of the place, of a call that is not one of all ranks."""
NEEDS = (*(f"event:{name}" for name in (*TIMED_OUT, *LOST)), "config.world_size", *GROUPS)
GIVES = ("failure.elsewhere", "failure.others_at", "failure.others")


def derive(store: FactStore) -> Iterator[Fact]:
    """The three facts for each rank that timed out where fewer ranks waited than at the place of most."""
    if any(_number(store, name) > 1 for name in GROUPS):
        return
    for run, waits in _waits(store).items():
        if set(waits) != _ranks(store, run) or any(SEVERAL.search(_frame(event)) for event in waits.values()):
            continue
        if set(waits) & failed(store, {event.source for event in waits.values()}):
            continue
        ranks_at: dict[str, list[int]] = defaultdict(list)
        for rank, event in waits.items():
            ranks_at[_place(event)].append(rank)
        # Who lost a peer may have been further, in the next call: where ranks wait is told by those that timed out.
        timed_out = {rank: _place(event) for rank, event in waits.items() if event.name in TIMED_OUT}
        places = sorted(set(timed_out.values()), key=lambda place: -len(ranks_at[place]))
        if len(places) < 2:
            continue
        alone = len(ranks_at[places[0]]) > len(ranks_at[places[1]])
        for rank, place in timed_out.items():
            if place != places[0] or not alone:
                others = places[0] if place != places[0] else places[1]
                yield from _told(waits[rank], rank, place, others, len(ranks_at[others]))


def _ranks(store: FactStore, run: str) -> set[int]:
    """All ranks that are known of, also those between them of which nothing is known."""
    seen = {event.rank for event in store.events() if event.run == run and event.rank is not None}
    size = max(_number(store, "config.world_size"), max(seen, default=-1) + 1)
    return set(range(size)) if size <= MOST else set()


def _number(store: FactStore, name: str) -> int:
    fact = store.get(name)
    return fact.value if fact is not None and isinstance(fact.value, int) else 0


def _waits(store: FactStore) -> Mapping[str, dict[int, Event]]:
    """By run and rank, what says that the rank waited, or lost whom it waited for; a time-out says more."""
    found: dict[str, dict[int, Event]] = defaultdict(dict)
    for name in (*TIMED_OUT, *LOST):
        for event in store.events(name):
            if event.rank is not None and _place(event):
                found[event.run].setdefault(event.rank, event)
    return found


def _place(event: Event) -> str:
    """File, line and function of the frame in the job's own code."""
    return _frame(event).partition(": ")[0]


def _frame(event: Event) -> str:
    return str(event.fields.get("own_frame") or "")


def _told(event: Event, rank: int, place: str, others_at: str, others: int) -> Iterator[Fact]:
    values: dict[str, Value] = {"failure.elsewhere": place, "failure.others_at": others_at, "failure.others": others}
    for name, value in values.items():
        yield Fact(name, value, f"rank:{rank}", event.source, None, Quality.DERIVED, (event.source,))
