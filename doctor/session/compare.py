"""Two runs side by side: what changed, by how much, whether that is more than noise, and whether it is better."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from doctor.facts.model import Source
from doctor.session.measures import (
    MEMORY,
    PARTS,
    ROLES,
    SPEEDS,
    STEP,
    TRACE_MFU,
    Measure,
    Series,
    by_role,
    by_step,
    kernel_steps,
    kernels,
    number,
    of_span,
    ranks,
    single,
    speed,
)
from doctor.session.noise import USUAL_NOISE, Judged, State, judged, noise_of
from doctor.session.sides import Found, Side

PART = 0.01
"""A part of a step counts as changed from this share of the step on, a kernel too."""
MOST_KERNELS = 8

CONDITIONS: Mapping[str, tuple[str, ...]] = {
    "model": ("config.model", "config.params", "config.num_layers", "config.hidden_size"),
    "seq_len": ("config.seq_len",),
    "global_batch": ("run.global_batch", "config.global_batch"),
    "gpus": ("config.world_size", "config.world_size_echoed", "trace.world_size"),
    "gpu_model": ("config.gpu_model", "trace.device_name", "gpu.name"),
}
"""What must be the same for two runs to be compared, with the facts that state it. Each fact is held against the same
fact of the other side: names of one thing differ from source to source."""


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity on both sides; `noise` is the relative difference below which it is none."""

    measure: Measure
    judged: Judged
    counts: tuple[int, int]
    noise: float
    sources: tuple[tuple[Source, ...], tuple[Source, ...]]


@dataclass(frozen=True, slots=True)
class KernelChange:
    """Time of a kernel: of a step, or where `shared` over the span. `at_most`: a side does not list it.

    `judged` where both sides tell its time step by step, of which there are `counts`.
    """

    name: str
    before: float
    after: float
    at_most: bool = False
    judged: Judged | None = None
    counts: tuple[int, int] = (1, 1)


@dataclass(frozen=True, slots=True)
class Difference:
    """A condition that is not the same on both sides."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding: gone, new, still there, or untold (`why`: other files, or the run ended earlier)."""

    finding: Found
    state: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that is said. verdict: better, worse, same (no difference that can be told) or incomparable.

    `reasons` are keys of texts with what fills them; `shared` says that parts and kernels are shares of the span.
    """

    before: str
    after: str
    verdict: str
    reasons: tuple[tuple[str, Mapping[str, str]], ...]
    differences: tuple[Difference, ...] = ()
    changes: tuple[Change, ...] = ()
    kernels: tuple[KernelChange, ...] = ()
    findings: tuple[FindingChange, ...] = ()
    notes: tuple[tuple[str, Mapping[str, str]], ...] = ()
    shared: bool = False


def compare(before: Side, after: Side, repeats: Sequence[Side] = ()) -> Comparison:
    """`repeats` are further runs of the job as it was before, unchanged: they show how much it differs on its own."""
    differences = tuple(_differences(before, after))
    notes = [("compare.bare", {"name": side.name}) for side in (before, after, *repeats) if side.bare]
    good = []
    for side in repeats:
        wrong = [difference.what for difference in _differences(before, side)]
        if wrong:
            notes.append(("compare.no_repeat", {"name": side.name}))
        else:
            good.append(side)
    changes = [*_speeds(before, after, good), *_memory(before, after)]
    traced, listed, shared = _traces(before, after, notes)
    changes += traced
    findings = tuple(_findings(before, after))
    verdict, reasons = _verdict(differences, changes, findings)
    return Comparison(
        before.name, after.name, verdict, reasons, differences, tuple(changes), listed, findings, tuple(notes), shared
    )


def _differences(before: Side, after: Side) -> Iterator[Difference]:
    for what, names in CONDITIONS.items():
        for name in names:
            first, second = before.store.get(name), after.store.get(name)
            if first is None or second is None:
                first, second = (next(iter(side.store.every(name)), None) for side in (before, after))
            if first is None or second is None:
                continue
            a, b = _plain(first.value), _plain(second.value)
            if a != b:
                yield Difference(what, _shown(first.value), _shown(second.value))
                break
            if what != "model":
                break


def _shown(value: object) -> str:
    """As the fact states it; a count that was computed, such as that of parameters, without a fraction."""
    return f"{value:,.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def _plain(value: object) -> str:
    """A model may lie in another folder, and a number be written another way."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.6g}"
    return re.sub(r"[\s_-]+", "-", str(value).rstrip("/").rpartition("/")[2].casefold())


def _speeds(before: Side, after: Side, repeats: Sequence[Side]) -> Iterator[Change]:
    for measure, name in SPEEDS:
        first, second = speed(before, name), speed(after, name)
        if first is None or second is None:
            continue
        again = [found for side in repeats if (found := speed(side, name)) is not None]
        # Where one side holds several runs of one job, these are repeats too.
        noises = [[*first.runs, *(run for found in again for run in found.runs)], second.runs]
        told = [noise_of(runs) for runs in noises if len(runs) > 1]
        yield _change(measure, first, second, max(told, default=USUAL_NOISE))


def _memory(before: Side, after: Side) -> Iterator[Change]:
    """The peak is one number a run, and repeats itself closely: it is judged by its size alone."""
    for measure, name in MEMORY:
        first, second = single(before, name), single(after, name)
        if first is None or second is None:
            continue
        a, b = first.values[0], second.values[0]
        state = State.SAME if abs(b - a) <= USUAL_NOISE * abs(a) else State.WORSE if b > a else State.BETTER
        yield Change(measure, Judged(a, b, None, None, state), (1, 1), USUAL_NOISE, (first.sources, second.sources))


def _traces(
    before: Side, after: Side, notes: list[tuple[str, dict[str, str]]]
) -> tuple[list[Change], tuple[KernelChange, ...], bool]:
    """Steps, their parts and kernels over the ranks that both sides have traces of."""
    known = ranks(before), ranks(after)
    both = sorted(known[0] & known[1])
    if not both:
        if all(known):
            notes.append(("compare.no_rank", {}))
        return [], (), False
    if known[0] != known[1]:
        notes.append(("compare.some_ranks", {"n": str(len(both))}))
    steps = by_step(before, "trace.step_us", both), by_step(after, "trace.step_us", both)
    changes = []
    shared = steps[0] is None or steps[1] is None
    scales = (1.0, 1.0)
    if steps[0] is not None and steps[1] is not None:
        changes.append(_change(STEP, steps[0], steps[1]))
        scales = changes[0].judged.before, changes[0].judged.after
    for measure, each, whole in PARTS:
        measured = Measure(measure.name, "1") if shared else measure
        pair = [of_span(side, whole, both) if shared else by_step(side, each, both) for side in (before, after)]
        if pair[0] is not None and pair[1] is not None:
            changes.append(_change(measured, pair[0], pair[1], least=PART * scales[0]))
        if measure.name == "exposed":
            changes += _roles(before, after, both, scales, measured)
    measure, name = TRACE_MFU
    utilisation = single(before, name), single(after, name)
    if utilisation[0] is not None and utilisation[1] is not None:
        changes.append(_change(measure, utilisation[0], utilisation[1]))
    return changes, tuple(_kernels(before, after, both, scales)), shared


def _roles(
    before: Side, after: Side, both: Sequence[str], scales: tuple[float, float], measure: Measure
) -> Iterator[Change]:
    """By step where both sides tell steps; a side that has none of a role has 0 in each of its steps."""
    steps = [by_step(side, "trace.step_us", both) for side in (before, after)]
    for role in ROLES:
        pair = [by_role(side, role, both, scale) for side, scale in zip((before, after), scales, strict=True)]
        if not any(pair):
            continue
        stepped = [by_step(side, f"trace.step_exposed_{role}_us", both) for side in (before, after)]
        first, second = (found or Series(((0.0,),), ()) for found in pair)
        if all(found or not whole for found, whole in zip(stepped, pair, strict=True)) and all(steps):
            first, second = (
                found or Series(((0.0,) * len(known.values),), ())
                for found, known in zip(stepped, steps, strict=True)
                if known is not None
            )
        yield _change(Measure(f"exposed_{role}", measure.unit), first, second, least=PART * scales[0])


def _kernels(before: Side, after: Side, both: Sequence[str], scales: tuple[float, float]) -> list[KernelChange]:
    (first, unseen_first), (second, unseen_second) = kernels(before, both, scales[0]), kernels(after, both, scales[1])
    steps = kernel_steps(before, both), kernel_steps(after, both)
    found = []
    for name in first.keys() | second.keys():
        a, b = first.get(name, unseen_first), second.get(name, unseen_second)
        hidden = (name not in first and unseen_first > 0) or (name not in second and unseen_second > 0)
        if abs(b - a) > max(PART * scales[0], USUAL_NOISE * max(a, b)):
            change = KernelChange(name, a, b, hidden)
            found.append(change if hidden else _judged_kernel(change, steps, PART * scales[0]))
    return sorted(found, key=lambda kernel: (-abs(kernel.after - kernel.before), kernel.name))[:MOST_KERNELS]


def _judged_kernel(
    change: KernelChange, steps: tuple[Mapping[str, tuple[float, ...]], Mapping[str, tuple[float, ...]]], least: float
) -> KernelChange:
    """The change as its steps show it; a side that lists all its kernels and not this one never runs it."""
    known = [len(next(iter(side.values()), ())) for side in steps]
    if not all(known):
        return change
    first, second = (side.get(change.name, (0.0,) * count) for side, count in zip(steps, known, strict=True))
    found = judged(first, second, False, USUAL_NOISE, least)
    return KernelChange(change.name, found.before, found.after, False, found, (len(first), len(second)))


def _change(measure: Measure, first: Series, second: Series, noise: float = USUAL_NOISE, least: float = 0.0) -> Change:
    found = judged(first.values, second.values, measure.more_is_better, noise, least)
    return Change(measure, found, (len(first.values), len(second.values)), noise, (first.sources, second.sources))


def _findings(before: Side, after: Side) -> Iterator[FindingChange]:
    """A finding is gone only where it could have been found: the same kinds of files, a run that went as far."""
    causes = {finding.cause for finding in after.findings}
    known = {finding.cause for finding in before.findings}
    ends = number(before, "run.last_step"), number(after, "run.last_step")
    shorter = ends[1] is None if ends[0] is None else ends[1] is None or ends[1] < ends[0]
    for finding in before.findings:
        if finding.cause in causes:
            yield FindingChange(finding, "still")
        elif before.kinds - after.kinds - {"config"}:
            yield FindingChange(finding, "untold", "files")
        elif finding.severity == "fatal" and shorter and "log" in before.kinds:
            yield FindingChange(finding, "untold", "ended")
        else:
            yield FindingChange(finding, "gone")
    for finding in after.findings:
        if finding.cause not in known:
            yield FindingChange(finding, "new")


def _verdict(
    differences: Sequence[Difference], changes: Sequence[Change], findings: Sequence[FindingChange]
) -> tuple[str, tuple[tuple[str, Mapping[str, str]], ...]]:
    """The first of these that speaks: conditions, failures, speed, memory."""
    if differences:
        return "incomparable", (("compare.reason.incomparable", {}),)
    fatal: dict[str, list[str]] = {}
    for change in findings:
        if change.finding.severity == "fatal" and change.finding.root:
            fatal.setdefault(change.state, []).append(change.finding.rule)
    for state, verdict in (("new", "worse"), ("still", ""), ("untold", ""), ("gone", "better")):
        if state in fatal and verdict:
            return verdict, ((f"compare.reason.{state}", {"names": ", ".join(fatal[state])}),)
        if state in fatal:
            return "same", ((f"compare.reason.{state}", {"names": ", ".join(fatal[state])}),)
    speeds = [c for c in changes if c.measure.name in {STEP.name, *(measure.name for measure, _ in SPEEDS)}]
    told = next((c for c in speeds if c.judged.state not in (State.FEW, State.SINGLE)), None)
    if told is not None and told.judged.state in (State.BETTER, State.WORSE):
        return str(told.judged.state), (("compare.reason.speed", {"measure": told.measure.name}),)
    reasons: list[tuple[str, Mapping[str, str]]] = []
    if told is not None:
        reasons.append((f"compare.reason.{told.judged.state}", {"measure": told.measure.name}))
    else:
        reasons.append(("compare.reason.few" if speeds else "compare.reason.nothing", {}))
    memory = next((c for c in changes if c.measure.unit == "B" and c.judged.state is not State.SAME), None)
    if memory is not None and (told is not None or not speeds):
        reasons.append(("compare.reason.memory", {"measure": memory.measure.name}))
        return str(memory.judged.state), tuple(reasons)
    return "same", tuple(reasons)
