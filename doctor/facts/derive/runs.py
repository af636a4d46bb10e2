"""What changed between two runs, and what it did to their speed or their loss.

A measurement is the speed of a log, or of a line in somebody's notes, with the settings it was made with: those its
name or its line says, else those of its run, else those of the job. Two measurements of the same kind that differ in
one setting give a contrast: the cost of a unit of work and GPU under the greater setting over that under the lesser.
Above 1 the greater setting is slower.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import isfinite, log
from statistics import median

from doctor.facts.derive.progress import is_training_bar, number, steady, steps_of
from doctor.facts.labels import settings, speeds
from doctor.facts.model import Event, Fact, Quality, Scalar, Source, Value
from doctor.facts.store import FactStore

KEYS: Mapping[str, tuple[str, ...]] = {
    "tp": ("config.tp",),
    "pp": ("config.pp",),
    "cp": ("config.cp",),
    "ep": ("config.ep",),
    "vpp": ("config.vpp",),
    "zero": ("config.zero_stage",),
    "nodes": ("config.nnodes",),
    "gpus": ("config.world_size", "job.world_size_seen"),
    "offload": ("config.offload_optimizer",),
    "recompute": ("config.recompute",),
    "micro_batch": ("config.micro_batch",),
    "grad_accum": ("config.grad_accum",),
    "num_workers": ("config.num_workers",),
    "fast_link": (),
}
"""Settings that are compared, with the facts that state them."""

NEEDS = (
    *(name for names in KEYS.values() for name in names),
    *("event:progress.step", "event:progress.bar", "event:progress.rate", "event:progress.step_time"),
    *("event:progress.train_summary", "event:table.speed", "event:table.time", "event:deepspeed.microstep_timers"),
    "sweep.row",
)
GIVES = (
    *(f"contrast.{key}" for key in KEYS),
    *("contrast.changed", "contrast.accum_time", "contrast.scaling", "contrast.zero_forward", "contrast.offload_step"),
    *("contrast.cp_grad_norm", "contrast.cp_loss"),
)

RATES = (
    *(("tflops", "tflops"), ("tokens_per_s_gpu", "tokens/s"), ("mfu", "mfu"), ("mfu_percent", "mfu")),
    *(("tokens_per_s", "tokens/s"), ("samples_per_s", "samples/s")),
)
"""Rates of useful work that a log may print, the most comparable first."""
WHOLE_JOB = frozenset({"tokens_per_s", "samples_per_s"})
"""Rates of all GPUs together."""
ORDER: Mapping[Scalar, float] = {"none": 0.0, "selective": 1.0, "full": 2.0, "cpu": 1.0, "nvme": 1.0}
FOLLOWS: Mapping[str, frozenset[str]] = {
    "nodes": frozenset({"gpus"}),
    "gpus": frozenset({"nodes", "fast_link", "zero"}),
    "offload": frozenset({"zero"}),
    "recompute": frozenset(),
    "tp": frozenset({"pp", "micro_batch", "grad_accum"}),
    "pp": frozenset({"grad_accum", "tp"}),
    "ep": frozenset({"pp"}),
    "cp": frozenset({"grad_accum"}),
    "micro_batch": frozenset({"grad_accum"}),
}
"""Settings that must change with another one when the number of GPUs and the batch are kept."""
MOST = 200
"""Measurements that are compared with each other; more are no longer a comparison by hand."""
SPECIAL: Mapping[tuple[str, str], str] = {("forward", "zero"): "zero_forward", ("optimizer", "offload"): "offload_step"}
"""Times of a part of the step, which speak of one setting only."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A speed with its settings. `cost` is GPU-seconds for a unit of work; only ratios of it mean something."""

    kind: str
    cost: float
    settings: Mapping[str, Scalar]
    sources: tuple[Source, ...]
    shown: str
    seconds: float | None = None


def derive(store: FactStore) -> Iterator[Fact]:
    """One fact for each setting that two measurements differ in: of several pairs the one with the clearest effect."""
    logs = list(_logs(store))
    notes = [*_noted(store), *_tabulated(store)]
    made_with = [*(group.settings for group in logs), *(note.settings for note in notes)]
    if len({frozenset(named.items()) for named in made_with}) < 2:
        return  # ranks of one run: nothing differs
    found: dict[str, tuple[float, tuple[Source, ...], str]] = {}
    measurements = [*(m for group in logs for m in _measured(group)), *notes]
    for a, b in combinations(measurements[:MOST], 2):
        for key, value, text in _contrasts(a, b):
            sources = (*a.sources, *b.sources)
            if key not in found or abs(log(value)) > abs(log(found[key][0])):
                found[key] = (value, sources, text)
    for key, (value, sources, _) in found.items():
        yield _fact(f"contrast.{key}", value, sources)
    if found:
        changed = tuple(text for _, _, text in found.values())
        yield _fact("contrast.changed", changed, tuple(s for _, sources, _ in found.values() for s in sources))
    yield from _timers(logs)
    yield from _numerics(logs)


@dataclass(frozen=True, slots=True)
class Log:
    """The progress of one file, with the settings it was made with."""

    events: Sequence[Event]
    settings: Mapping[str, Scalar]


def _logs(store: FactStore) -> Iterator[Log]:
    by_file: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for name in (
        *("progress.step", "progress.bar", "progress.rate", "progress.step_time", "progress.train_summary"),
        "deepspeed.microstep_timers",
    ):
        for event in store.events(name):
            if name != "progress.bar" or is_training_bar(event):
                by_file[event.run, event.source.path].append(event)
    stated = {run: _stated(store, f"run:{run}") for run, _ in by_file}
    for (run, path), events in by_file.items():
        events.sort(key=lambda event: event.order)
        yield Log(events, {**stated[run], **_named(path), **_named(run)})


@lru_cache(maxsize=1024)
def _named(label: str) -> Mapping[str, Scalar]:
    return settings(label)


def _stated(store: FactStore, entity: str) -> dict[str, Scalar]:
    """The settings of a run, or of the job where the run itself says nothing."""
    found: dict[str, Scalar] = {}
    for key, names in KEYS.items():
        for name in names:
            fact = store.get(name, entity)
            if fact is not None and isinstance(fact.value, str | int | float | bool):
                found[key] = fact.value
                break
    return found


def _measured(group: Log) -> Iterator[Measurement]:
    """The speeds of a log: rates of useful work where it prints them, and the time of a step."""
    gpus = _gpus(group.settings)
    for field, kind in RATES:
        found = [(value, e) for e in group.events if (value := number(e, field)) is not None and value > 0]
        if found:
            middle = median(value for value, _ in found)
            near = min(found, key=lambda pair: abs(pair[0] - middle))[1]
            cost = (gpus if field in WHOLE_JOB else 1.0) / middle
            yield Measurement(kind, cost, group.settings, (near.source,), f"{middle:g} {kind}")
            break
    steps = steps_of(group.events)
    if steps:
        seconds = median(step.seconds for step in steady(steps))
        near = min(steps, key=lambda step: abs(step.seconds - seconds)).event
        work = _work(group)
        if seconds > 0:
            cost = seconds * gpus / work
            yield Measurement("step", cost, group.settings, (near.source,), f"{seconds:.3g} s a step", seconds)


def _work(group: Log) -> float:
    """Work of one step up to a factor shared by the runs: an epoch in fewer steps means bigger steps."""
    batch = [value for e in group.events if (value := number(e, "global_batch")) is not None]
    if batch:
        return batch[0]
    totals = [value for e in group.events if e.name == "progress.bar" and (value := number(e, "total")) is not None]
    return 1 / max(totals) if totals and max(totals) > 0 else 1.0


def _gpus(named: Mapping[str, Scalar]) -> float:
    for key in ("gpus", "nodes"):
        value = named.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return float(value)
    return 1.0


def _noted(store: FactStore) -> Iterator[Measurement]:
    """Speeds in notes and tables: lines that are no progress lines and name a setting beside a number with its unit."""
    progress = {(e.source.path, e.source.line) for e in store.events("progress.step")}
    progress |= {(e.source.path, e.source.line) for e in store.events("progress.bar")}
    lines: dict[tuple[str, int], Event] = {}
    for name in ("table.speed", "table.time", "progress.train_summary"):
        for event in store.events(name):
            lines.setdefault((event.source.path, event.source.line), event)
    for place, event in lines.items():
        if place in progress:
            continue
        for speed in speeds(event.source.text):
            if speed.settings and speed.value > 0:
                gpus = 1.0 if speed.per_gpu else _gpus(speed.settings)
                # People keep the batch of a GPU when they add GPUs, so an iteration is more work; an epoch is not.
                gpus = 1.0 if speed.measure == "s/it" else gpus
                cost = (speed.value if speed.time else 1 / speed.value) * gpus
                seconds = speed.value if speed.time else None
                shown = f"{speed.value:g} {speed.measure}"
                yield Measurement(speed.measure, cost, speed.settings, (event.source,), shown, seconds)


def _tabulated(store: FactStore) -> Iterator[Measurement]:
    """Rows of a table that compares runs; the table probe has put them in words, value and unit."""
    for fact in store.every("sweep.row"):
        words, _, tail = str(fact.value).rpartition(": ")
        number_text, _, unit = tail.partition(" ")
        named = settings(words)
        try:
            value = float(number_text)
        except ValueError:
            continue
        if not named or value <= 0:
            continue
        is_time = unit in ("step", "forward", "optimizer")
        per_gpu = unit in ("tflops", "mfu", "tokens/s/GPU")
        cost = (value if is_time else 1 / value) * (1.0 if per_gpu else _gpus(named))
        kind = "s" if unit == "step" else unit
        yield Measurement(kind, cost, named, (fact.source,), tail, value if is_time else None)


def _contrasts(a: Measurement, b: Measurement) -> Iterator[tuple[str, float, str]]:
    """The one setting that differs, the cost ratio of its greater over its lesser value, and both in words."""
    if a.kind != b.kind or a.cost <= 0 or b.cost <= 0 or a.settings == b.settings:
        return
    keys = a.settings.keys() & b.settings.keys() & KEYS.keys()
    differ = [key for key in keys if _rank(a.settings[key]) != _rank(b.settings[key])]
    for key in differ:
        if not set(differ) - {key} <= FOLLOWS.get(key, frozenset()):
            continue
        high, low = (a, b) if _rank(a.settings[key]) > _rank(b.settings[key]) else (b, a)
        ratio = high.cost / low.cost
        if key in ("grad_accum", "micro_batch") and high.kind in ("step", "s", "s/it"):
            units = _units(high.settings, key) / _units(low.settings, key)
            ratio = ratio / units
        if not (isfinite(ratio) and ratio > 0):
            continue
        if high.kind in ("forward", "optimizer"):
            if (name := SPECIAL.get((high.kind, key))) and high.seconds and low.seconds:
                yield name, high.seconds / low.seconds, f"{key} {low.settings[key]}: {low.shown}"
            continue
        words = f"{key} {low.settings[key]}: {low.shown}, {key} {high.settings[key]}: {high.shown}"
        yield key, ratio, words
        if key == "grad_accum" and high.seconds and low.seconds:
            yield "accum_time", ratio, words
        if key in ("nodes", "gpus") and high.seconds and low.seconds:
            # Time of the same work with the fewer GPUs over that with the more: below 1 the added GPUs are a loss.
            yield "scaling", low.cost / _gpus(low.settings) / (high.cost / _gpus(high.settings)), words


def _units(named: Mapping[str, Scalar], key: str) -> float:
    value = named.get(key)
    return float(value) if isinstance(value, int | float) and value else 1.0


def _rank(value: Scalar) -> float:
    if isinstance(value, str):
        return ORDER.get(value.lower(), 0.0)
    return float(value)


def _timers(logs: Iterable[Log]) -> Iterator[Fact]:
    """DeepSpeed's timers of two runs: the forward pass under a higher ZeRO stage, the optimizer under offload."""
    timed: list[tuple[Log, Event, float, float]] = []
    for group in logs:
        own = [event for event in group.events if event.name == "deepspeed.microstep_timers"]
        own = own[1:] if len(own) > 2 else own
        forward = [value for event in own if (value := number(event, "forward_ms")) is not None]
        step = [value for event in own if (value := number(event, "step_ms")) is not None]
        if own and forward and step:
            timed.append((group, own[-1], median(forward), max(step)))
    for a, b in combinations(timed, 2):
        for key, name, index in (("zero", "contrast.zero_forward", 2), ("offload", "contrast.offload_step", 3)):
            if key not in a[0].settings or key not in b[0].settings:
                continue
            first, second = _rank(a[0].settings[key]), _rank(b[0].settings[key])
            if first == second:
                continue
            high, low = (a, b) if first > second else (b, a)
            above, below = high[index], low[index]
            if isinstance(above, float) and isinstance(below, float) and below > 0:
                yield _fact(name, above / below, (high[1].source, low[1].source))


def _numerics(logs: Sequence[Log]) -> Iterator[Fact]:
    """Loss and gradient norm of two runs at the same step, when only the context-parallel size differs."""
    for a, b in combinations([group for group in logs if "cp" in group.settings], 2):
        differ = [k for k in a.settings.keys() & b.settings.keys() if _rank(a.settings[k]) != _rank(b.settings[k])]
        if "cp" not in differ or not set(differ) <= {"cp", "gpus", "nodes", "grad_accum", "tp", "pp"}:
            continue
        high, low = (a, b) if _rank(a.settings["cp"]) > _rank(b.settings["cp"]) else (b, a)
        for field, name in (("grad_norm", "contrast.cp_grad_norm"), ("loss", "contrast.cp_loss")):
            above, below = _by_step(high, field), _by_step(low, field)
            common = sorted(above.keys() & below.keys())
            if common and below[common[0]][0] > 0 and above[common[0]][0] > 0:
                one, other = above[common[0]], below[common[0]]
                yield _fact(name, one[0] / other[0], (one[1].source, other[1].source))


def _by_step(group: Log, field: str) -> dict[int, tuple[float, Event]]:
    found: dict[int, tuple[float, Event]] = {}
    for event in group.events:
        value, step = number(event, field), number(event, "step")
        if value is not None and step is not None:
            found.setdefault(int(step), (value, event))
    return found


def _fact(name: str, value: Value, sources: tuple[Source, ...]) -> Fact:
    return Fact(name, value, "job", Source("derived"), None, Quality.DERIVED, tuple(dict.fromkeys(sources)))
