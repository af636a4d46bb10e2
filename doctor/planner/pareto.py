"""Which candidates to show: those that no other beats in everything, and those that the models cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from doctor.planner.bubble import bubble
from doctor.planner.job import Job
from doctor.planner.knobs import difference

GIB = 2.0**30
FEWEST = 4  # candidates to show, where there are any, even if their degrees are alike
# Settings whose change asks for more than another command line: checkpoints are cut anew, groups laid out anew.
HEAVY = frozenset({"tp", "pp", "cp", "ep", "etp", "sharding", "stack", "first", "last"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A layout with what it would cost. low, likely, high: seconds of a step; waits: share of it in which communication
    is not hidden; peak: B on the fullest GPU, at the high
    end of its range; usual: the same in the middle; risks: what could go wrong, as keys of texts; distance: how far it
    is from today's job (0 where there is none)."""

    job: Job
    low: float
    likely: float
    high: float
    waits: float
    peak: float
    usual: float
    risks: tuple[str, ...]
    distance: int

    @property
    def bubble(self) -> float:
        """Idle share of the pipelined part of a step, by the schedule."""
        layout = self.job.layout
        return bubble(self.job.schedule, layout.pp, self.job.micro_batches, layout.vpp)

    @property
    def headroom(self) -> float:
        """B that stay free even at the high end; negative where it may not fit."""
        return self.job.cluster.gpu.memory - self.peak

    @property
    def fits(self) -> bool:
        """Does it fit for certain? A candidate that does not may still fit."""
        return self.headroom >= 0


def distance(today: Job | None, job: Job) -> int:
    """Number of settings that differ; those that cut states anew count double."""
    if today is None:
        return 0
    changed = set(difference(today, job)) - {"grad_accum", "sp", "schedule"}
    return sum(2 if name in HEAVY else 1 for name in changed)


def front(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that no other candidate beats or equals in time, headroom (in whole GiB), risk and distance; fastest
    first."""
    kept: list[tuple[tuple[float, ...], Candidate]] = []
    for candidate in sorted(candidates, key=lambda c: (c.likely, c.peak, len(c.risks), c.distance)):
        cost = (candidate.peak // GIB, len(candidate.risks), candidate.distance)
        if not any(all(mine >= other for mine, other in zip(cost, better, strict=True)) for better, _ in kept):
            kept.append((cost, candidate))
    return [candidate for _, candidate in kept]


def chosen(ordered: Sequence[Candidate]) -> Candidate | None:
    """The fastest that fits for certain, else the one that is likeliest to fit."""
    sure = [c for c in ordered if c.fits]
    return sure[0] if sure else max(ordered, key=lambda c: c.headroom, default=None)


def tied(ordered: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The chosen one and all that fit whose range of step times overlaps its own: the models cannot say which is
    faster."""
    best = chosen(ordered)
    if best is None:
        return ()
    return tuple(c for c in ordered if c is best or (c.fits and c.low <= best.high))


def shortlist(ordered: Sequence[Candidate], count: int) -> tuple[Candidate, ...]:
    """At most `count` of a front, fastest first: one of each set of degrees; the chosen one, the nearest to today's job
    and the roomiest of those as fast for all the models know are always among them, and one faster that may not fit."""
    rivals = tied(ordered)
    if not rivals:
        return ()
    best = chosen(ordered)
    hopes = [c for c in ordered if not c.fits and best and c.likely < best.likely]
    must = [best, *hopes[:1], min(rivals, key=lambda c: c.distance), max(rivals, key=lambda c: c.headroom)]
    slower = [c for c in ordered if c.fits and c not in rivals]
    found: dict[tuple[object, ...], Candidate] = {}
    for candidate in [*(c for c in must if c), *rivals]:
        if len(found) < count:
            found.setdefault(_degrees(candidate), candidate)
    shown = list(found.values())
    shown += [c for c in [*rivals, *slower] if c not in shown][: max(0, FEWEST - len(shown))]
    return tuple(sorted(shown, key=lambda c: c.likely))


def to_measure(ordered: Sequence[Candidate], count: int = 3) -> tuple[Candidate, ...]:
    """Of the tied ones the fastest, then those whose degrees differ most from what is already there: a measurement of
    near twins tells little. Empty where nothing is tied."""
    rivals = list(tied(ordered))
    if len(rivals) < 2:
        return ()
    picked = rivals[:1]
    while len(picked) < min(count, len(rivals)):
        rest = [c for c in rivals if c not in picked]
        picked.append(max(rest, key=lambda c: (min(_apart(c, other) for other in picked), -c.likely)))
    return tuple(sorted(picked, key=lambda c: c.likely))


def _degrees(candidate: Candidate) -> tuple[object, ...]:
    layout = candidate.job.layout
    return layout.tp, layout.cp, layout.pp, layout.ep, layout.etp, layout.shard


def _apart(one: Candidate, other: Candidate) -> int:
    return sum(a != b for a, b in zip(_degrees(one), _degrees(other), strict=True))
