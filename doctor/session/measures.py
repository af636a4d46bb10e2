"""What of a run is compared with another: rates and times from logs, parts of a step from traces, memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from statistics import median

from doctor.facts.model import Fact, Source
from doctor.session.sides import Side

MICROSECOND = 1e-6
ROLES = ("tp", "pp", "dp", "ep", "cp", "unknown")
LISTED = 20
"""Kernels that a trace lists; one that is not among these may still take as long as the last of them."""


@dataclass(frozen=True, slots=True)
class Series:
    """Measurements of one quantity: one list for each run of the side, and where they were read."""

    runs: tuple[tuple[float, ...], ...]
    sources: tuple[Source, ...]

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(value for run in self.runs for value in run)


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity: its name, its unit, whether more of it is better."""

    name: str
    unit: str
    more_is_better: bool = False


SPEEDS = (
    (Measure("tokens", "tokens/s", True), "run.tokens_per_s_gpu"),
    (Measure("samples", "samples/s", True), "run.samples_per_s"),
    (Measure("step", "s"), "run.step_time"),
    (Measure("tflops", "TFLOP/s", True), "run.tflops"),
    (Measure("mfu", "1", True), "run.mfu"),
)
"""Rates and times of logs, the most comparable first."""
STEP = Measure("trace_step", "s")
PARTS = (
    (Measure("compute", "s"), "trace.step_compute_us", "trace.compute_us"),
    (Measure("exposed", "s"), "trace.step_exposed_comm_us", "trace.exposed_comm_us"),
    (Measure("copies", "s"), "trace.step_exposed_mem_us", "trace.exposed_mem_us"),
    (Measure("idle", "s"), "trace.step_idle_us", "trace.idle_us"),
)
"""Parts of a step on the device, by step and, where a trace has none, of the whole recording."""
TRACE_MFU = (Measure("trace_mfu", "1", True), "trace.mfu")
MEMORY = (
    (Measure("memory", "B"), "run.memory_max"),
    (Measure("snapshot", "B"), "snapshot.peak_total"),
)


def speed(side: Side, name: str) -> Series | None:
    """The blocks of each run, or the one number where a report of an older version has no blocks."""
    facts = list(side.store.every(f"{name}_blocks")) or list(side.store.every(name))
    runs = {fact.entity: numbers(fact) for fact in facts}
    told = tuple(values for values in runs.values() if values)
    return Series(told, sources_of(facts)) if told else None


def single(side: Side, name: str) -> Series | None:
    """The greatest value of a fact, which is one measurement."""
    facts = [fact for fact in side.store.every(name) if numbers(fact)]
    if not facts:
        return None
    greatest = max(facts, key=lambda fact: numbers(fact)[0])
    return Series(((numbers(greatest)[0],),), sources_of([greatest]))


def ranks(side: Side) -> set[str]:
    """The ranks of which there is a trace."""
    return {fact.entity for fact in side.store.every("trace.span_us") if fact.entity.startswith("rank:")}


def by_step(side: Side, name: str, entities: Iterable[str]) -> Series | None:
    """A part of each step in seconds, the median over the ranks."""
    facts = [fact for entity in sorted(entities) if (fact := side.store.get(name, entity)) is not None]
    columns = [numbers(fact) for fact in facts]
    shortest = min((len(column) for column in columns), default=0)
    if not shortest:
        return None
    values = tuple(median(column[i] for column in columns) * MICROSECOND for i in range(shortest))
    return Series((values,), sources_of(facts))


def of_span(side: Side, name: str, entities: Iterable[str], scale: float = 1.0) -> Series | None:
    """A part of the recording over its span, the median over the ranks, times `scale`: one measurement."""
    shares, facts = [], []
    for entity in sorted(entities):
        fact, span = side.store.get(name, entity), number(side, "trace.span_us", entity)
        if fact is not None and (found := numbers(fact)) and span and span > 0:
            shares.append(found[0] / span * scale)
            facts.append(fact)
    return Series(((median(shares),),), sources_of(facts)) if shares else None


def by_role(side: Side, role: str, entities: Iterable[str], scale: float) -> Series | None:
    """Exposed communication of one kind of process group, the median over the ranks that have any."""
    facts = [
        fact
        for entity in sorted(entities)
        if (fact := side.store.get(f"trace.exposed_{role}_share", entity)) is not None
    ]
    shares = [found[0] * scale for fact in facts if (found := numbers(fact)) and found[0] > 0]
    return Series(((median(shares),),), sources_of(facts)) if shares else None


def kernel_steps(side: Side, entities: Iterable[str]) -> Mapping[str, tuple[float, ...]]:
    """Seconds of each listed kernel in each step, the median over the ranks that list it."""
    rows: dict[str, list[tuple[float, ...]]] = {}
    for entity in sorted(entities):
        fact = side.store.get("trace.step_kernels", entity)
        for word in fact.value if fact is not None and isinstance(fact.value, tuple) else ():
            name, _, text = str(word).rpartition("=")
            with suppress(ValueError):
                times = tuple(float(part) * MICROSECOND for part in text.split())
                if name and times and all(isfinite(time) and time >= 0 for time in times):
                    rows.setdefault(name, []).append(times)
    return {name: tuple(map(median, zip(*own, strict=False))) for name, own in rows.items()}


def kernels(side: Side, entities: Sequence[str], scale: float) -> tuple[Mapping[str, float], float]:
    """Time of each kernel over the span, the median over the ranks, times `scale`; and how long an unlisted one may
    take."""
    found: dict[str, list[float]] = {}
    unlisted = 0.0
    for entity in entities:
        fact, span = side.store.get("trace.top_kernels", entity), number(side, "trace.span_us", entity)
        if fact is None or not isinstance(fact.value, tuple) or not span or span <= 0:
            continue
        times = [pair for word in fact.value if (pair := _named(str(word))) is not None]
        own: dict[str, float] = {}
        for name, seconds in times:  # names are cut off: kernels whose names begin alike are one here
            own[name] = own.get(name, 0.0) + seconds
        for name, seconds in own.items():
            found.setdefault(name, []).append(seconds / (span * MICROSECOND) * scale)
        if len(times) >= LISTED:
            unlisted = max(unlisted, times[-1][1] / (span * MICROSECOND) * scale)
    return {name: median(values) for name, values in found.items()}, unlisted


def number(side: Side, name: str, entity: str = "job") -> float | None:
    fact = side.store.get(name, entity)
    found = numbers(fact) if fact is not None else ()
    return found[0] if found else None


def numbers(fact: Fact) -> tuple[float, ...]:
    """The finite numbers of a fact."""
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    return tuple(
        float(v)
        for v in values
        if isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e300 and isfinite(v)
    )


def sources_of(facts: Sequence[Fact]) -> tuple[Source, ...]:
    """Where facts were read: the lines behind derived ones."""
    found = [source for fact in facts for source in (fact.because or (fact.source,)) if source.path]
    return tuple(dict.fromkeys(found))


def _named(word: str) -> tuple[str, float] | None:
    name, sign, text = word.rpartition("=")
    try:
        seconds = float(text)
    except ValueError:
        return None
    return (name, seconds) if sign and isfinite(seconds) and seconds >= 0 else None
