"""Which rank the others lost, or wait for in vain: all of them say so, and it alone says nothing of a failure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator

from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore

TIMED_OUT = "gloo.timeout"
LOST = (TIMED_OUT, "gloo.peer_closed", "nccl.remote_closed")
REPORTED = "torch.worker_failed"
"""The launcher's report of how its ranks ended: it names those that failed, and none that ended well."""

NEEDS = (*(f"event:{name}" for name in (*LOST, REPORTED, "log.last_line")), "config.world_size")
GIVES = ("failure.gone", "failure.awaited", "failure.peers", "failure.unheard")
OWN_WORD = re.compile(
    r"(?i)\b(?:error|exception|panic(?:ked)?|fatal|abort(?:ed|ing)?|terminat(?:e|ed|ing)|killed|cancell?ed)\b"
)
"""In the last line of a rank: it does not end without a word. What it means no event tells."""
SIGTERM = -15
"""Exit code of those that the launcher ends itself."""
MOST = 1 << 17
FEWEST = 3
"""Ranks: of two, the one that says nothing may as well not have got to it yet."""


def derive(store: FactStore) -> Iterator[Fact]:
    """`failure.awaited` of the rank where one of the others waited until a time-out, else `failure.gone`."""
    lost: dict[str, dict[int, Event]] = defaultdict(dict)
    nameless: dict[str, list[Event]] = defaultdict(list)
    for name in LOST:
        for event in store.events(name):
            if event.rank is None:
                nameless[event.run].append(event)
            else:
                lost[event.run].setdefault(event.rank, event)
    for run, peers in lost.items():
        # Whose words these are is not known: they may be those of the rank that seems to say nothing.
        if not all(any(one.source.text in peer.source.text for peer in peers.values()) for one in nameless[run]):
            continue
        ranks = _ranks(store, run)
        silent = ranks - set(peers)
        if len(ranks) < FEWEST or len(silent) != 1 or silent & (failed(store) | _spoke(store, run)):
            continue
        rank = silent.pop()
        heard = any(event.rank == rank for event in store.events() if event.run == run)
        apart = len({event.source.path for event in peers.values()}) > 1
        if apart and not heard and store.get("config.world_size") is None:
            continue  # the log of that node was not handed over
        because = tuple(event.source for event in list(peers.values())[:4])
        waited = any(event.name == TIMED_OUT for event in peers.values()) and not _killed(store, run, rank)
        facts: dict[str, Value] = {"failure.awaited" if waited else "failure.gone": True, "failure.peers": len(peers)}
        facts |= {"failure.unheard": True} if apart and not heard else {}
        for name, value in facts.items():
            yield Fact(name, value, f"rank:{rank}", because[0], None, Quality.DERIVED, because)


def _ranks(store: FactStore, run: str) -> set[int]:
    """All ranks of the job: as configured, else those seen in its logs if none is left out, but for one that the
    launcher need not name, since it ended well."""
    world = store.get("config.world_size")
    seen = {event.rank for event in store.events() if event.run == run and event.rank is not None}
    if world is not None and isinstance(world.value, int) and 0 < world.value <= MOST:
        return set(range(world.value)) | seen
    every = set(range(max(seen, default=-1) + 1)) if max(seen, default=0) < MOST else set()
    reported = any(event.run == run and event.rank is not None for event in store.events(REPORTED))
    return every if seen == every or reported else set()


def failed(store: FactStore, besides: Collection[Source] = ()) -> set[int]:
    """Ranks that tell of a failure of their own, in other lines than `besides`."""
    follow = {*besides, *(event.source for event in store.events() if event.fields.get("follows"))}
    fatal = [event for event in store.events() if event.fields.get("symptom") == "fatal" and event.source not in follow]
    return {event.rank for event in fatal if event.rank is not None}


def _spoke(store: FactStore, run: str) -> set[int]:
    """Ranks whose last line is one of failure, though of none that is known."""
    last = [event for event in store.events("log.last_line") if event.run == run and event.rank is not None]
    return {event.rank for event in last if event.rank is not None and OWN_WORD.search(event.source.text[:1000])}


def _killed(store: FactStore, run: str, rank: int) -> bool:
    """Does the launcher tell that the rank ended by a signal that was not its own?"""
    codes = [event.fields.get("exitcode") for event in store.events(REPORTED) if (event.run, event.rank) == (run, rank)]
    return any(isinstance(code, int) and code < 0 and code != SIGTERM for code in codes)
