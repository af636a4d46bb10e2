"""Facts from what was seen of the logs of one run: trends, and ranks that differ from the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from statistics import median

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.vitals.growth import Growth
from doctor.facts.vitals.outlier import RANKS, outlier
from doctor.facts.vitals.robust import spread
from doctor.facts.vitals.stream import Stream
from doctor.facts.vitals.trends import Trends

MOST_RANKS = 16
"""Ranks that facts are told of one by one."""
SLOW = 1.2
"""A rank is a straggler from this many times the median over the ranks, as in doctor/facts/derive/series.py."""
APART = 6.0
"""and this many standard deviations of the ranks away from it."""
PART = 0.1
"""Waiting for data counts from this share of a step."""
ENOUGH = 12
BLOCK = 16
"""Steps of which the share of waiting is taken at once: a loader that runs empty stops few steps for long."""
MOST_TIMES = 1000.0
"""More is not told: the others take no time at all."""
BLOCKS = (16, 64)
"""Steps whose medians are compared: few tell soon, many tell what lies within the noise of few."""
OF_TWO = 1.4
"""Of two ranks none is the usual one: the slower one is told from this many times the time of the other on, by the
median of every block of the longest stretch that is compared."""
TIMED = {"data": "waiting for data", "compute": "forward pass", "own": "step"}
"""What ranks print of their own, the most telling first: all wait for the slowest, so whole steps are mostly alike."""


def fact(name: str, value: Value, entity: str, sources: Iterable[Source | None] = ()) -> Fact:
    because = tuple(dict.fromkeys(source for source in sources if source is not None))
    return Fact(name, value, entity, because[-1] if because else Source("derived"), None, Quality.DERIVED, because)


def timing(streams: Sequence[Stream]) -> Stream:
    """The log that tells of the speed: the one with most steps, unless others alone tell times or rates, such as the
    file of metrics beside a bar."""
    telling = [stream for stream in streams if stream.trends.rates or stream.trends.pace.count]
    return max(telling or streams, key=lambda stream: (stream.pulse.beats, -(stream.rank or 0)))


def trends(entity: str, stream: Stream, timed: Stream) -> Iterator[Fact]:
    """What the log that stands for a run tells of it, and of its speed the one that is `timed`."""
    own = stream.trends
    if (speed := timed.trends.slower()) is not None and (ratio := speed[1].ratio) is not None:
        yield fact("live.slowdown", round(ratio, 3), entity, speed[1].sources)
        yield fact("live.slowdown_of", speed[0], entity, speed[1].sources)
    if spikes := own.spiking():
        sources = [source for _, _, source in spikes][-3:]
        yield fact("live.gradient_spikes", len(spikes), entity, sources)
        yield fact("live.gradient_spike", round(max(ratio for _, ratio, _ in spikes), 1), entity, sources)
    if own.fall is not None:
        ratio, scale, source = own.fall
        yield fact("live.loss_scale_fall", ratio, entity, [source])
        yield fact("live.loss_scale", scale, entity, [source])
    drifts = [(ratio, series) for series in own.experts.values() if (ratio := series.ratio) is not None]
    if drifts:
        ratio, series = max(drifts, key=lambda pair: pair[0])
        yield fact("live.expert_drift", round(ratio, 3), entity, series.sources)
    yield from _waiting(entity, own)
    if stream.save is not None:
        yield fact("live.save_time", round(stream.save[0], 3), entity, [stream.save[1]])


def _waiting(entity: str, own: Trends) -> Iterator[Fact]:
    if min(len(own.data), len(own.own)) < 2 * BLOCK:
        return
    late = share(list(own.data)[-BLOCK:], list(own.own)[-BLOCK:])
    early = share(list(own.data)[:BLOCK], list(own.own)[:BLOCK])
    yield fact("live.data_share", round(late, 3), entity, [own.last_data])
    yield fact("live.data_share_before", round(early, 3), entity, [own.last_data])


def share(waited: Sequence[float], steps: Sequence[float]) -> float:
    """Share of the time of steps that is waiting, 0 to 1."""
    total = sum(steps)
    return min(sum(waited) / total, 1.0) if total > 0 else 0.0


def memory(entity: str, streams: Sequence[Stream]) -> Iterator[Fact]:
    """Memory that creeps, rank by rank where ranks print their own."""
    for prefix, growths in (
        ("live.memory", [(stream, stream.trends.gpu) for stream in streams]),
        ("live.host_memory", [(stream, stream.trends.host) for stream in streams]),
    ):
        yield from _creeping(prefix, entity, growths)
    yield from _fullest(entity, streams)


def _fullest(entity: str, streams: Sequence[Stream]) -> Iterator[Fact]:
    """How full the fullest GPU is, where logs print the share of the card beside what is in use."""
    told = [
        (stream.trends.percent, last, stream.rank)
        for stream in streams
        if stream.trends.percent and (last := stream.trends.gpu.last) is not None
    ]
    if told:
        percent, (_, used, source), rank = max(told, key=lambda one: one[0] or 0.0)
        if percent:
            where = entity if rank is None else f"rank:{rank}"
            yield fact("live.memory_used", used, where, [source])
            yield fact("live.memory_limit", used * 100 / percent, where, [source])


def _creeping(prefix: str, entity: str, growths: Sequence[tuple[Stream, Growth]]) -> Iterator[Fact]:
    found = ((stream, creep) for stream, growth in growths if (creep := growth.creep()) is not None)
    for stream, creep in islice(found, MOST_RANKS):
        where = entity if stream.rank is None else f"rank:{stream.rank}"
        yield fact(f"{prefix}_creep", creep.per_step, where, creep.sources)
        yield fact(f"{prefix}_used", creep.used, where, creep.sources)
        yield fact(f"{prefix}_gained", creep.gained, where, creep.sources)
        percent = stream.trends.percent
        if prefix == "live.memory" and percent:
            yield fact("live.memory_limit", creep.used * 100 / percent, where, creep.sources)


def straggler(streams: Sequence[Stream]) -> Iterator[Fact]:
    """The rank whose own times lie above those of the others, where ranks print their own."""
    ranked = {stream.rank: stream for stream in streams if stream.rank is not None}
    for measure, name in TIMED.items():
        found = _sudden(ranked, measure) or _lasting(ranked, measure)
        if found is not None:
            yield from _slow("live.slow_rank", ranked, found, name)
            return
    yield from _of_two(ranked)


def _slow(told: str, ranked: Mapping[int, Stream], found: tuple[int, float], measure: str) -> Iterator[Fact]:
    rank, ratio = found
    where, sources = f"rank:{rank}", [ranked[rank].last]
    yield fact(told, True, where, sources)
    yield fact("live.slow_rank_ratio", round(min(ratio, MOST_TIMES), 2), where, sources)
    yield fact("live.slow_rank_of", measure, where, sources)


def _of_two(ranked: Mapping[int, Stream]) -> Iterator[Fact]:
    """The slower one of two ranks, where it is so for long."""
    if len(ranked) != 2:
        return
    for measure, name in TIMED.items():
        if (found := slower_of_two(ranked, measure)) is not None:
            yield from _slow("live.slow_of_two", ranked, found, name)
            return


def slower_of_two(ranked: Mapping[int, Stream], measure: str) -> tuple[int, float] | None:
    """The rank and its ratio to the other one: of one noisy measure, in all blocks of the stretch alike."""
    longest = BLOCKS[-1]
    own = {rank: list(getattr(stream.trends, measure))[-longest:] for rank, stream in ranked.items()}
    if any(len(values) < longest for values in own.values()):
        return None
    slow, quick = sorted(own, key=lambda rank: median(own[rank]), reverse=True)
    most, usual = median(own[slow]), median(own[quick])
    steps = ranked[slow].trends.own
    if measure == "data" and (not steps or most - usual < PART * median(steps)):
        return None
    parts = range(0, longest, BLOCK)
    if any(median(own[slow][at : at + BLOCK]) < OF_TWO * median(own[quick][at : at + BLOCK]) for at in parts):
        return None
    errs = max(1.2533 * spread(values) / longest**0.5 for values in own.values())
    return (slow, most / usual if usual > 0 else MOST_TIMES) if most > usual + APART * errs else None


def lockstep(entity: str, streams: Sequence[Stream]) -> Iterator[Fact]:
    """Do ranks print steps, and nothing that would tell which of them the others wait for?"""
    ranked = [stream for stream in streams if stream.rank is not None]
    if ranked and not any(stream.trends.data or stream.trends.compute for stream in ranked):
        yield fact("live.lockstep", True, entity, [ranked[0].last])


def sudden(streams: Sequence[Stream]) -> int | None:
    """The rank that has become far slower than the others within the last few steps."""
    ranked = {stream.rank: stream for stream in streams if stream.rank is not None}
    return next((found[0] for measure in TIMED if (found := _sudden(ranked, measure)) is not None), None)


def _sudden(ranked: Mapping[int, Stream], measure: str) -> tuple[int, float] | None:
    own = {rank: getattr(stream.trends, measure) for rank, stream in ranked.items()}
    steps = [stream.trends.own[-1] for stream in ranked.values() if stream.trends.own]
    if measure == "data" and not steps:
        return None
    return outlier(own, PART * median(steps) if steps else 0.0)


def _lasting(ranked: Mapping[int, Stream], measure: str) -> tuple[int, float] | None:
    """A rank that lies above the others by the median of the last steps, also where it always did."""
    own = {rank: list(getattr(stream.trends, measure)) for rank, stream in ranked.items()}
    for block in BLOCKS:
        last = {rank: values[-block:] for rank, values in own.items() if len(values) >= min(block, ENOUGH)}
        if len(last) >= RANKS and (found := _above(last)) is not None:
            rank, usual, most = found
            steps = ranked[rank].trends.own
            if measure != "data" or (steps and most - usual >= PART * median(steps)):
                return rank, most / usual if usual > 0 else MOST_TIMES
    return None


def _above(last: Mapping[int, Sequence[float]]) -> tuple[int, float, float] | None:
    """The one rank whose median lies above the others', their median, and its own.

    Medians lie apart by what ranks differ in, and by what that of n noisy steps errs by: 1.2533 sigma / sqrt(n).
    """
    middles = {rank: median(values) for rank, values in last.items()}
    slowest = max(middles, key=lambda rank: middles[rank])
    others = [value for rank, value in middles.items() if rank != slowest]
    usual, most = median(others), middles[slowest]
    if most < SLOW * usual or max(others) > usual + (most - usual) / 2:
        return None  # nobody, or not one rank: they are spread out
    errs = max(1.2533 * spread(values, middles[rank]) / len(values) ** 0.5 for rank, values in last.items())
    return (slowest, usual, most) if most > usual + APART * max(spread(others, usual), errs) else None
