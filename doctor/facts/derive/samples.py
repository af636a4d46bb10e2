"""Measurements of a run in a handful of numbers, for runs to be compared: medians of blocks of steps in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from doctor.facts.derive.progress import by_runs, longest_log, number, steady, steps_of
from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = (
    *("event:progress.step", "event:progress.bar", "event:progress.rate", "event:progress.step_time"),
    "series.row",
)
GIVES = (
    *("run.step_time_blocks", "run.tokens_per_s_gpu_blocks", "run.samples_per_s_blocks", "run.tflops_blocks"),
    *("run.mfu_blocks", "run.last_step", "run.global_batch"),
)
BLOCKS = 20
"""Steps in a row resemble each other; medians of blocks do so far less, and twenty show the spread of a median."""
RATES = (
    ("run.tokens_per_s_gpu_blocks", "tokens_per_s_gpu", 1.0),
    ("run.samples_per_s_blocks", "samples_per_s", 1.0),
    ("run.tflops_blocks", "tflops", 1.0),
    ("run.mfu_blocks", "mfu", 1.0),
    ("run.mfu_blocks", "mfu_percent", 0.01),
)


def blocks(values: Sequence[float], most: int = BLOCKS) -> tuple[float, ...]:
    """The medians of at most `most` parts of `values`, each of values in a row and about as long as the others."""
    count = min(most, len(values))
    bounds = [round(i * len(values) / count) for i in range(count + 1)] if count else []
    return tuple(median(values[a:b]) for a, b in pairwise(bounds))


def derive(store: FactStore) -> Iterator[Fact]:
    """The blocks of each run that has progress lines; of the job when there is one run."""
    by_run = by_runs(store)
    for run, events in by_run.items():
        entity = "job" if len(by_run) == 1 else f"run:{run}"
        log = longest_log(events)
        steps = steps_of(log)
        if steps:
            yield _fact("run.last_step", max(step.number for step in steps), entity, steps[-1].event)
            times = [step.seconds for step in steady(steps)]
            yield _fact("run.step_time_blocks", blocks(times), entity, steps[0].event)
        if batches := [(value, event) for event in log if (value := number(event, "global_batch")) is not None]:
            yield _fact("run.global_batch", int(batches[-1][0]), entity, batches[-1][1])
        for name, field, scale in RATES:
            found = [(value * scale, event) for event in log if (value := number(event, field)) is not None]
            found = found[1:] if len(found) > 2 else found
            if found:
                yield _fact(name, blocks([value for value, _ in found]), entity, found[0][1])


def _fact(name: str, value: int | tuple[float, ...], entity: str, event: Event) -> Fact:
    return Fact(name, value, entity, Source("derived"), None, Quality.DERIVED, (event.source,))
