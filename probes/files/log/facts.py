"""Facts of doctor/facts/catalogue/job.yaml, drawn from what the logs say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import TypeAlias

from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.progress_bar import is_training
from probes.files.log.noise import is_noise
from probes.files.log.reader import LAST_LINE, FileReading

NUMBER = (int, float)
WORLD = ("world_size", "nranks", "world")
STEP_TIME: Mapping[str, float] = {"step_time_s": 1.0, "step_time_ms": 1e-3, "seconds_per_step": 1.0}
TRIED = 20
THROUGHPUT = ("tokens_per_s_gpu", "tokens_per_s", "samples_per_s")
OF_TRAINING = frozenset(("step", *STEP_TIME))
"""What the bar of another loop, of evaluation or loading, says of that loop alone."""
NAMES = frozenset((*WORLD, *OF_TRAINING, *THROUGHPUT))

Numbers: TypeAlias = Mapping[str, Sequence[tuple[float, Event]]]


def facts_of(readings: Sequence[FileReading], runs: Mapping[str, str]) -> list[Fact]:
    """All facts of the logs; what belongs to one of several runs is stated of that run."""
    facts = [
        Fact("log.files", len(readings), source=_whole(readings), quality=Quality.MEASURED),
        Fact("log.bytes", sum(reading.size for reading in readings), source=_whole(readings), quality=Quality.MEASURED),
    ]
    if not readings:
        return []
    by_run: dict[str, list[FileReading]] = defaultdict(list)
    for reading in readings:
        by_run[runs[reading.name]].append(reading)
    for run, members in by_run.items():
        facts += _of_run(members, "job" if run == "job" else f"run:{run}")
    facts += _of_ranks(readings)
    return facts


def _of_run(readings: Sequence[FileReading], entity: str) -> Iterator[Fact]:
    ranks, kept, numbers = _seen(event for reading in readings for event in reading.events)
    if ranks:
        yield Fact("log.ranks_seen", tuple(sorted(ranks)), entity, _whole(readings), quality=Quality.DERIVED)
    if world := [(size, event) for size, event in numbers.get("world", ()) if 0 < size < 10**7]:
        size, event = max(world, key=lambda pair: pair[0])
        yield Fact("job.world_size_seen", int(size), entity, event.source, event.time)
    counts: dict[str, int] = defaultdict(int)
    for reading in readings:
        for name, count in reading.counts.items():
            counts[name] += count
    for name, count in counts.items():
        if count > kept.get(name, 0):
            yield Fact(f"log.count.{name}", count, entity, _whole(readings), quality=Quality.DERIVED)
    times = [(r.first_time, r.last_time) for r in readings if r.first_time is not None and r.last_time is not None]
    if times:
        yield Fact("log.first_time", min(a for a, _ in times), entity, _whole(readings))
        yield Fact("log.last_time", max(b for _, b in times), entity, _whole(readings))
    yield from _steps(numbers, entity)


def _seen(events: Iterable[Event]) -> tuple[set[int], dict[str, int], Numbers]:
    """The ranks, how often each event occurs, and the numbers that facts are drawn from, each with its event; those
    that tell the number of ranks are all called world."""
    ranks: set[int] = set()
    kept: dict[str, int] = defaultdict(int)
    numbers: dict[str, list[tuple[float, Event]]] = defaultdict(list)
    for event in events:
        kept[event.name] += 1
        if event.rank is not None:
            ranks.add(event.rank)
        told = NAMES.intersection(event.fields)
        if told and event.name == "progress.bar" and not is_training(str(event.fields.get("label", ""))):
            told -= OF_TRAINING
        for name in told:
            value = event.fields[name]
            if isinstance(value, NUMBER) and not isinstance(value, bool):
                numbers["world" if name in WORLD else name].append((value, event))
    return ranks, kept, numbers


def _steps(numbers: Numbers, entity: str) -> Iterator[Fact]:
    if steps := numbers.get("step"):
        first, last = min(steps, key=lambda pair: pair[0]), max(steps, key=lambda pair: pair[0])
        yield Fact("job.steps_seen", len({step for step, _ in steps}), entity, last[1].source, quality=Quality.DERIVED)
        yield Fact("run.first_step", int(first[0]), entity, first[1].source, first[1].time)
        yield Fact("run.last_step", int(last[0]), entity, last[1].source, last[1].time)
    for name, scale in STEP_TIME.items():
        if timed := [(value * scale, event) for value, event in numbers.get(name, ()) if value > 0]:
            # The first step is warm-up: compilation, autotuning, communicators.
            steady = timed[1:] or timed
            value = median(seconds for seconds, _ in steady)
            yield Fact(
                "run.step_time", value, entity, steady[-1][1].source, quality=Quality.DERIVED, because=_few(steady)
            )
            break
    for name in THROUGHPUT:
        if rates := [(value, event) for value, event in numbers.get(name, ()) if value > 0]:
            steady = rates[1:] or rates
            value = median(rate for rate, _ in steady)
            yield Fact(
                "run.throughput", value, entity, steady[-1][1].source, quality=Quality.DERIVED, because=_few(steady)
            )
            break


def _of_ranks(readings: Sequence[FileReading]) -> Iterator[Fact]:
    hosts: dict[int, Event] = {}
    locals_: dict[int, Event] = {}
    last: dict[int, Event] = {}
    others: dict[int, list[Event]] = defaultdict(list)
    for reading in readings:
        for event in reading.events:
            if (rank := event.rank) is None:
                continue
            if rank not in hosts and event.host is not None:
                hosts[rank] = event
            if rank not in locals_ and event.local_rank is not None:
                locals_[rank] = event
            if event.name != LAST_LINE:
                others[rank].append(event)
            elif rank not in last or _later(event, last[rank]):
                last[rank] = event
    for rank, events in others.items():
        if rank not in last:
            tail = (other for other in events[:-TRIED:-1] if not is_noise(other.source.text))
            if found := next(tail, None):
                last[rank] = found
    for rank, event in sorted(hosts.items()):
        yield Fact("rank.host", event.host or "", f"rank:{rank}", event.source)
    for rank, event in sorted(locals_.items()):
        yield Fact("rank.local_rank", event.local_rank or 0, f"rank:{rank}", event.source)
    for rank, event in sorted(last.items()):
        text = event.fields.get("text", event.source.text) if event.name == LAST_LINE else event.source.text
        yield Fact("rank.last_line", text, f"rank:{rank}", event.source, event.time)
        if event.time is not None:
            yield Fact("rank.last_time", event.time, f"rank:{rank}", event.source, event.time)


def _later(event: Event, other: Event) -> bool:
    """Of a rank's last lines in stdout and stderr, or in several attempts, the later one counts."""
    return event.time is not None and (other.time is None or event.time > other.time)


def _few(timed: Sequence[tuple[float, Event]]) -> tuple[Source, ...]:
    return tuple(event.source for _, event in (timed[0], timed[len(timed) // 2], timed[-1]))


def _whole(readings: Sequence[FileReading]) -> Source:
    return Source("log", readings[0].name if len(readings) == 1 else "")
