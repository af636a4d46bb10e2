"""Who holds the job up, by where the main threads of its ranks stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from probes.files.stacks.doing import P2P, WAITING, Doing, Stand
from probes.files.stacks.model import Frame

OTHER, GONE = "other-collective", "gone"
"""Faults beside those that are called by what the rank does instead."""


@dataclass(frozen=True, slots=True)
class RankStack:
    """The main thread of a rank: what it does, its frames (innermost first) in the last look, and whether it moved.

    `moved` is None after one look; `switches` how often it waited for something anew meanwhile, None if not known.
    """

    rank: int
    stand: Stand
    frames: tuple[Frame, ...]
    moved: bool | None = None
    switches: int | None = None

    @property
    def waits(self) -> bool:
        return self.stand.doing in WAITING

    @property
    def still(self) -> bool:
        """Did it stand all the time, by the kernel's count too?"""
        return self.moved is False and self.switches == 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`kind` is running, alone, waiting, stands or blamed; `faults` what each culprit does, `waiting` who waits."""

    kind: str
    faults: Mapping[int, str] = field(default_factory=dict)
    waiting: tuple[int, ...] = ()
    place: str = ""


def verdict(ranks: Sequence[RankStack], missing: Sequence[int] = (), whole: bool = True) -> Verdict:
    """Who is to blame. `missing` are ranks that should run here and do not; `whole` says that no rank runs elsewhere.

    A rank is to blame when it is not where it is waited for, as long as those that wait are the most, and stood for as
    long as they were watched. Ranks that all wait show who differs only where all of them were seen.
    """
    waiting = [rank for rank in ranks if rank.waits]
    others = [rank for rank in ranks if not rank.waits]
    names = tuple(sorted(rank.rank for rank in waiting))
    if any(rank.moved for rank in waiting) or (waiting and not _stood(waiting)):
        return Verdict("running", waiting=names)
    place = _place(waiting)
    if not waiting:
        return Verdict("running" if any(rank.moved for rank in others) else "alone")
    if missing and len(missing) <= len(waiting):
        return Verdict("blamed", dict.fromkeys(missing, GONE), names, place)
    if others:
        if len(others) > len(waiting) or all(rank.stand.doing is Doing.START for rank in others):
            return Verdict("waiting", waiting=names, place=place)
        return Verdict("blamed", {rank.rank: str(rank.stand.doing) for rank in others}, names, place)
    if whole and (odd := _odd(waiting)):
        return Verdict("blamed", dict.fromkeys(odd, OTHER), tuple(n for n in names if n not in odd), place)
    return Verdict("stands" if whole else "waiting", waiting=names, place=place)


def _stood(waiting: Sequence[RankStack]) -> bool:
    """Did those that wait stand, as far as they were watched? One that polls wakes all the time: most must not."""
    watched = [rank for rank in waiting if rank.moved is not None and rank.switches is not None]
    return not watched or 2 * sum(rank.still for rank in watched) >= len(watched)


def _place(waiting: Sequence[RankStack]) -> str:
    places = Counter(rank.stand.op or str(rank.stand.doing) for rank in waiting)
    return places.most_common(1)[0][0] if places else ""


def _odd(waiting: Sequence[RankStack]) -> tuple[int, ...]:
    """Ranks in another collective than the most: those in another operation, else those in another line."""
    in_collective = [r for r in waiting if r.stand.doing is Doing.COLLECTIVE and r.stand.op not in P2P]
    if len(in_collective) < len(waiting) or len(waiting) < 3:
        return ()
    places = Counter((rank.stand.op, rank.stand.frame.title) for rank in in_collective)
    (most, count), *rest = places.most_common()
    if not rest or rest[0][1] == count:
        return ()
    odd = [rank.rank for rank in in_collective if rank.stand.op != most[0]]
    odd = odd or [rank.rank for rank in in_collective if rank.stand.frame.title != most[1]]
    return tuple(sorted(odd)) if len(odd) < len(in_collective) / 2 else ()
