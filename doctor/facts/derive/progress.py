"""How a job advances: seconds a step, their spikes and trend, rates, memory, the share of time that is waiting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from statistics import fmean, median

from doctor.facts.derive.card import card_memory
from doctor.facts.derive.series import steps
from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.progress_bar import is_training
from doctor.facts.store import FactStore

NEEDS = (
    *("event:progress.step", "event:progress.bar", "event:progress.rate", "event:progress.step_time"),
    *("event:progress.save_started", "event:monitor.gpu_busy", "event:megatron.memory", "event:gpu.capacity"),
    *("gpu.memory_total", "gpu.memory_used", "gpu.utilization", "gpu.name", "config.gpu_model"),
    "series.row",
)
GIVES = (
    *("run.steps", "run.step_time", "run.step_time_first", "run.step_time_last", "run.step_time_trend"),
    *("run.spikes", "run.spike_ratio", "run.spike_period", "run.spike_seconds", "run.spike_share"),
    "run.spike_after_save",
    *("run.data_share", "run.tflops", "run.mfu", "run.tokens_per_s_gpu", "run.samples_per_s"),
    *("run.memory_max", "run.memory_share", "run.memory_growth", "run.alloc_retries", "run.skipped_share"),
    *("job.gpu_busy", "run.loss_first", "run.loss_last", "run.loss_min", "run.grad_norm_last", "run.loss_scale_last"),
)

SPIKE = 1.5
"""A step is a spike when it takes this many times the median; logging intervals average a spike over their steps."""
WARM_UP = 1
"""First values left out: compilation, allocator and NCCL connections make the first step slow in every framework."""
FEW = 4
"""Fewer values than this give a median, but neither a trend nor spikes."""
SERIES = (
    *("progress.step", "progress.bar", "progress.rate", "progress.step_time", "progress.save_started"),
    "megatron.memory",
)
"""The lines that a run's progress is read from."""
NUMBERS = (int, float)
BUSY = 0.3
"""Utilisation from which a snapshot of nvidia-smi is taken for one of the running job."""


@dataclass(frozen=True, slots=True)
class Step:
    """One value of a series: the step's number, its seconds, and where it was read."""

    number: int
    seconds: float
    event: Event


def derive(store: FactStore) -> Iterator[Fact]:
    """Facts of each run that has progress lines; of the job when there is one run."""
    by_run = by_runs(store)
    busy = [(value, e) for e in store.events("monitor.gpu_busy") if (value := number(e, "percent")) is not None]
    if busy:
        yield _fact("job.gpu_busy", median(value for value, _ in busy) / 100, "job", [busy[0][1]])
    for run, events in by_run.items():
        entity = "job" if len(by_run) == 1 else f"run:{run}"
        log = longest_log(events)
        yield from _times(entity, log)
        yield from _levels(entity, log, store)


def by_runs(store: FactStore) -> dict[str, list[Event]]:
    """The lines and rows of tables that tell of progress, by run."""
    found: dict[str, list[Event]] = defaultdict(list)
    for name in SERIES:
        for event in store.events(name):
            if name != "progress.bar" or is_training_bar(event):
                found[event.run].append(event)
    if tabled := steps(store):
        found["job"] += tabled
    return found


def is_training_bar(event: Event) -> bool:
    return is_training(str(event.fields.get("label", "")))


def longest_log(events: Sequence[Event]) -> list[Event]:
    """Ranks print the same steps: the file with most progress lines stands for the run."""
    by_path: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_path[event.source.path].append(event)
    longest = max(by_path.values(), key=lambda group: len(group))
    return sorted(longest, key=lambda event: event.order)


def number(event: Event, *names: str) -> float | None:
    """The first of the fields `names` that holds a finite number."""
    for name in names:
        value = event.fields.get(name)
        if value is not None and isinstance(value, NUMBERS) and isfinite(value):
            return float(value)
    return None


def seconds_of(event: Event) -> float | None:
    """Seconds a step, from whichever of the ways of saying it the line uses."""
    if (value := number(event, "step_time_s")) is not None:
        return value
    if (value := number(event, "step_time_ms")) is not None:
        return value / 1000
    if (value := number(event, "step_time")) is not None:
        return value / 1000 if event.fields.get("unit") == "ms" else value
    if (value := number(event, "steps_per_s")) is not None:
        return 1 / value if value > 0 else None
    text = str(event.fields.get("step_time_text", ""))
    if text:
        scale = {"K": 1e3, "M": 1e6}.get(text[-1], 1.0)
        return float(text.rstrip("KM")) * scale / 1000
    return None


def steps_of(events: Sequence[Event]) -> list[Step]:
    """The series of step times of one log, from the most exact kind of line that it has."""
    for name in ("progress.step", "progress.step_time", "progress.rate", "progress.bar"):
        chosen = [event for event in events if event.name == name]
        found = [Step(_number_of(e, i), s, e) for i, e in enumerate(chosen) if (s := seconds_of(e)) is not None]
        if found:
            return found
    return list(_by_clock([event for event in events if event.name == "progress.step"]))


def _by_clock(events: Sequence[Event]) -> Iterator[Step]:
    """Seconds a step from the time stamps of lines that print the step's number only."""
    for a, b in pairwise(events):
        first, second = number(a, "step"), number(b, "step")
        if first is None or second is None or a.time is None or b.time is None:
            continue
        if second > first and b.time > a.time:
            yield Step(int(second), (b.time - a.time) / (second - first), b)


def _number_of(event: Event, index: int) -> int:
    value = number(event, "step", "iteration")
    return index if value is None else int(value)


def steady(steps: Sequence[Step]) -> Sequence[Step]:
    """The steps without the warm-up, when enough remain."""
    return steps[WARM_UP:] if len(steps) > WARM_UP + 1 else steps


def _times(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    steps = steps_of(events)
    if not steps:
        return
    after = steady(steps)
    middle = median(step.seconds for step in after)
    near = min(after, key=lambda step: abs(step.seconds - middle))
    yield _fact("run.steps", len(steps), entity, [steps[0].event, steps[-1].event])
    yield _fact("run.step_time", middle, entity, [near.event])
    if len(after) < FEW or middle <= 0:
        return
    third = max(len(after) // 3, 1)
    first, last = median(s.seconds for s in after[:third]), median(s.seconds for s in after[-third:])
    ends = [after[0].event, after[-1].event]
    yield _fact("run.step_time_first", first, entity, [after[0].event])
    yield _fact("run.step_time_last", last, entity, [after[-1].event])
    yield _fact("run.step_time_trend", last / first if first > 0 else 1.0, entity, ends)
    yield from _spikes(entity, after, middle, events)


def _spikes(entity: str, steps: Sequence[Step], middle: float, events: Sequence[Event]) -> Iterator[Fact]:
    """Steps far above the median: how many, how regular, and whether a checkpoint was just written."""
    high = [step for step in steps if step.seconds > SPIKE * middle]
    shown = [step.event for step in high[:4]]
    yield _fact("run.spikes", len(high), entity, shown or [steps[-1].event])
    # A run that is slow most of the time has no spikes: its median is wrong, not its peaks.
    if not high or len(high) * 2 > len(steps):
        return
    excess = [step.seconds - middle for step in high]
    yield _fact("run.spike_ratio", max(step.seconds for step in high) / middle, entity, shown)
    yield _fact("run.spike_seconds", fmean(excess), entity, shown)
    yield _fact("run.spike_share", sum(excess) / sum(step.seconds for step in steps), entity, shown)
    gaps = {b.number - a.number for a, b in pairwise(high)}
    if len(high) >= 3 and max(gaps) - min(gaps) <= max(1, min(gaps) // 20):
        yield _fact("run.spike_period", min(gaps), entity, shown)
    saves = [event for event in events if event.name == "progress.save_started"]
    previous = {step.event.order: before.event.order for before, step in pairwise(steps)}
    hit = [s for s in high if any(previous.get(s.event.order, -1) < e.order < s.event.order for e in saves)]
    if saves:
        share = len(hit) / len(high)
        yield _fact("run.spike_after_save", share, entity, [*saves[:2], *(step.event for step in hit[:2])])


def _levels(entity: str, events: Sequence[Event], store: FactStore) -> Iterator[Fact]:
    yield from _medians(entity, events)
    yield from _memory(entity, events, store)
    losses = [(value, event) for event in events if (value := number(event, "loss")) is not None]
    if losses:
        yield _fact("run.loss_first", losses[0][0], entity, [losses[0][1]])
        yield _fact("run.loss_last", losses[-1][0], entity, [losses[-1][1]])
        least = min(losses, key=lambda pair: pair[0])
        yield _fact("run.loss_min", least[0], entity, [least[1]])
    for field, name in (("grad_norm", "run.grad_norm_last"), ("loss_scale", "run.loss_scale_last")):
        found = [(value, event) for event in events if (value := number(event, field)) is not None]
        if found:
            yield _fact(name, found[-1][0], entity, [found[-1][1]])
    skipped = [event for event in events if number(event, "skipped") is not None]
    numbers = [int(n) for event in skipped if (n := number(event, "step")) is not None]
    if len(numbers) >= 2 and numbers[-1] > numbers[0]:
        interval = (numbers[-1] - numbers[0]) / (len(numbers) - 1)
        count = sum(number(event, "skipped") or 0.0 for event in skipped)
        yield _fact("run.skipped_share", min(count / (interval * len(skipped)), 1.0), entity, [skipped[-1]])


def _medians(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    for name, fields, scale in (
        ("run.tflops", ("tflops",), 1.0),
        ("run.mfu", ("mfu",), 1.0),
        ("run.mfu", ("mfu_percent",), 0.01),
        ("run.tokens_per_s_gpu", ("tokens_per_s_gpu",), 1.0),
        ("run.samples_per_s", ("samples_per_s",), 1.0),
    ):
        found = [(value, event) for event in events if (value := number(event, *fields)) is not None]
        found = found[WARM_UP:] if len(found) > WARM_UP + 1 else found
        if found:
            middle = median(value for value, _ in found)
            near = min(found, key=lambda pair: abs(pair[0] - middle))
            yield _fact(name, middle * scale, entity, [near[1]])
    waits = list(_waits(events))
    waits = waits[WARM_UP:] if len(waits) > WARM_UP + 1 else waits
    if waits:
        # Of sums, since a loader that runs empty at times stops a few steps for long.
        share = sum(waited for waited, _, _ in waits) / sum(step for _, step, _ in waits)
        longest = max(waits, key=lambda wait: wait[0])[2]
        yield _fact("run.data_share", share, entity, [longest])


def _waits(events: Sequence[Event]) -> Iterator[tuple[float, float, Event]]:
    """Seconds waiting for data and of the step, where one line, or two lines side by side, give both."""
    seconds = {e.source.line: s for e in events if (s := seconds_of(e)) is not None and e.name != "progress.rate"}
    for event in events:
        waited = number(event, "data_time_s", "data_time")
        if waited is None:
            continue
        waited /= 1000 if event.fields.get("unit") == "ms" and event.name == "progress.rate" else 1
        step = next((seconds[n] for n in (event.source.line, event.source.line - 1) if n in seconds), None)
        if step and waited <= step * 1.05:
            yield min(waited, step), step, event


def _memory(entity: str, events: Sequence[Event], store: FactStore) -> Iterator[Fact]:
    """The peak, its share of the card, and the slope when memory grows from step to step without a fall."""
    used = [(value, e) for e in events if (value := _bytes(e)) is not None]
    percents = [(value, e) for e in events if (value := number(e, "memory_percent")) is not None]
    if used:
        peak, event = max(used, key=lambda pair: pair[0])
        yield _fact("run.memory_max", int(peak), entity, [event])
        card = card_memory(store)
        if percents:
            share, at = max(percents, key=lambda pair: pair[0])
            yield _fact("run.memory_share", share / 100, entity, [at])
        elif card is not None:
            yield _fact("run.memory_share", min(peak / card[0], 1.0), entity, [event])
        series = [(value, e) for value, e in used if e.name != "megatron.memory"]
        used = series or used
        values = [value for value, _ in used]
        rising = all(b >= a for a, b in pairwise(values))
        if len(values) >= FEW:
            grown = values[-1] - values[1] if rising else 0.0
            span = _number_of(used[-1][1], len(used) - 1) - _number_of(used[1][1], 1)
            yield _fact("run.memory_growth", grown / max(span, 1), entity, [used[1][1], used[-1][1]])
    elif snapshot := _snapshot(store):
        yield Fact("run.memory_share", snapshot[0], entity, Source("derived"), None, Quality.DERIVED, snapshot[1])
    retries = [(value, e) for e in events if (value := number(e, "alloc_retries")) is not None]
    if retries:
        yield _fact("run.alloc_retries", int(retries[-1][0]), entity, [retries[0][1], retries[-1][1]])


def _snapshot(store: FactStore) -> tuple[float, tuple[Source, ...]] | None:
    """The fullest busy card in the output of nvidia-smi, where the job itself prints no memory."""
    shares = []
    for used in store.every("gpu.memory_used"):
        total, busy = store.get("gpu.memory_total", used.entity), store.get("gpu.utilization", used.entity)
        if total is None or busy is None or not isinstance(busy.value, int | float) or busy.value < BUSY:
            continue
        if isinstance(used.value, int | float) and isinstance(total.value, int | float) and total.value > 0:
            shares.append((used.value / total.value, (used.source,)))
    return max(shares, key=lambda share: share[0]) if shares else None


def _bytes(event: Event) -> float | None:
    if (gib := number(event, "memory_gib", "memory_reserved_gib")) is not None:
        return gib * 1024**3
    if (mb := number(event, "max_reserved_mb")) is not None:
        return mb * 1024**2
    return number(event, "memory")


def _fact(name: str, value: Value, entity: str, events: Sequence[Event]) -> Fact:
    because: tuple[Source, ...] = tuple(dict.fromkeys(event.source for event in events))
    return Fact(name, value, entity, Source("derived"), None, Quality.DERIVED, because)
