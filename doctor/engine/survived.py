"""Failures that the job got over: an exception that the program caught is no reason why it ended."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from doctor.facts.beat import BARS, COUNTS, is_beat
from doctor.facts.model import Event, EventSpec, Symptom, Value
from doctor.facts.store import FactStore

TRACEBACK = "python.traceback"
GOES_ON = 3
"""Steps, or lines of other milestones, that a rank tells after a failure which it has survived."""

ENTRIES = ("<module>", "_run_module_as_main")
"""Where a program begins: an exception that left them ended its process."""

TRIED = ("ImportError", "ModuleNotFoundError")
"""Exceptions that modules catch where they are imported."""

PACKAGES = ("site-packages", "dist-packages")
"""Where libraries are, whose outermost frame is there only if they print what they caught."""

NEAR = 64
"""Milestones before and after a failure that are looked at: for the number of the step, a start, an end."""

MESSAGE_LINES = 8
"""Lines that the message of one exception may have."""


def milestones(store: FactStore, specs: Mapping[str, EventSpec]) -> dict[str, list[Event]]:
    """Lines that tell how far the job is, by log, the last one first."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in store.events():
        spec = specs.get(event.name)
        if (spec is not None and spec.phase) or _counts(event):
            found[event.source.path].append(event)
    for events in found.values():
        events.sort(key=lambda event: -event.order)
    return found


def went_on(event: Event, told: Sequence[Event], enough: int) -> bool:
    """Does a rank tell `enough` milestones after `event`? Of `told`, those that name another rank do not count.

    Bars are drawn once more while a process ends, so it takes more of them.
    """
    steps: set[tuple[object, int]] = set()
    drawn: set[tuple[object, int]] = set()
    for later in islice(told, _place(event, told)):
        if _of_another(later, event):
            continue
        step = later.fields.get("step", later.step)
        (drawn if later.name in BARS else steps).add((step, later.order if step is None else 0))
        if len(steps) >= enough or len(drawn) >= max(enough, GOES_ON):
            return True
    return False


def restarted(event: Event, told: Sequence[Event]) -> bool:
    """Do the steps after `event` belong to another attempt: was the job started again, or do they count anew?"""
    place = _place(event, told)
    earlier = [one for one in told[place : place + NEAR] if not _of_another(one, event)]
    if not any(_counts(one) for one in earlier):
        return False
    later = [one for one in reversed(told[max(place - NEAR, 0) : place]) if not _of_another(one, event)]
    return _starts(later) or _counts_anew(earlier, later)


def uncaught(traceback: Event) -> bool:
    """Did the exception leave the program, as its outermost frame tells?"""
    file, _, rest = str(traceback.fields.get("frames", "")).partition("\n")[0].partition(":")
    if rest.partition(":")[0] not in ENTRIES or file == "<string>":  # the latter is a process of multiprocessing
        return False
    exception = str(traceback.fields.get("exception", ""))
    return not exception.endswith(TRIED) and not any(folder in file for folder in PACKAGES)


def is_lone(event: Event) -> bool:
    """Is it the last line of a traceback, as programs also print it that caught the exception?"""
    return event.name == TRACEBACK and not event.fields.get("frames") and not event.fields.get("cause_frames")


def was_finished(event: Event, told: Sequence[Event], specs: Mapping[str, EventSpec]) -> bool:
    """Had the job reached its end before `event`, and made no step since?"""
    place = _place(event, told)
    for earlier in told[place : place + NEAR]:
        if _counts(earlier):
            return False
        if (spec := specs.get(earlier.name)) is not None and spec.phase == "exit":
            return True
    return False


def caught(
    events: Iterable[Event],
    told: Mapping[str, Sequence[Event]],
    ends: Mapping[str, int],
    tracebacks: Sequence[Event] = (),
) -> list[Event]:
    """Of messages of exceptions, those after which the job made steps and nothing tells that a process ended.

    `ends` is the place of the last report of an end, by log.
    """
    left = {(one.source.path, one.rank, one.source.line) for one in tracebacks if uncaught(one)}
    return [
        event
        for event in events
        if ends.get(event.source.path, -1) < event.order
        and went_on(event, told.get(event.source.path, ()), GOES_ON)
        and not restarted(event, told.get(event.source.path, ()))
        and not any((event.source.path, event.rank, event.source.line - k) in left for k in range(MESSAGE_LINES + 1))
    ]


def reported_ends(store: FactStore, specs: Mapping[str, EventSpec]) -> dict[str, int]:
    """The place of the last line, by log, that reports the failure of a process."""
    found: dict[str, int] = {}
    for name, spec in specs.items():
        if spec.follows and spec.symptom is Symptom.FATAL:
            for event in store.events(name):
                found[event.source.path] = max(event.order, found.get(event.source.path, -1))
    return found


def _place(event: Event, told: Sequence[Event]) -> int:
    """How many of `told`, the last one first, lie after `event`."""
    return bisect_left(told, -event.order, key=lambda one: -one.order)


def _of_another(one: Event, event: Event) -> bool:
    return None not in (one.rank, event.rank) and one.rank != event.rank


def _counts(event: Event) -> bool:
    """Is it a step? What is printed of speed alone may also sum up a run that is over."""
    return is_beat(event) and (event.name in COUNTS or "step" in event.fields)


def _starts(later: Sequence[Event]) -> bool:
    """Does the job start before it goes on? That it loads something is a start only if steps follow."""
    loads = False
    for event in later:
        if _counts(event):
            return loads
        if event.name in ("progress.launching", "progress.initializing", "progress.training_started"):
            return True
        if event.name in ("progress.finished", "progress.train_summary"):
            return False
        loads = loads or event.name in ("progress.loading", "progress.reading_states")
    return False


def _counts_anew(earlier: Sequence[Event], later: Sequence[Event]) -> bool:
    """Is a number of steps, or of epochs, lower at first than it was before?"""
    before: dict[tuple[Value, ...], Event] = {}
    for event in earlier:
        before.setdefault(_counter(event), event)
    seen: set[tuple[Value, ...]] = set()
    for event in later:
        counter = _counter(event)
        if counter in before and counter not in seen and _counts(event):
            seen.add(counter)
            if _falls(before[counter], event):
                return True
    return False


def _counter(event: Event) -> tuple[Value, ...]:
    return (event.name, event.fields.get("label", ""), event.fields.get("total", 0))


def _falls(before: Event, after: Event) -> bool:
    """Is `after` an earlier step? One after the last of all is the first of the next epoch."""
    epochs, steps = [_pair(before.fields.get(name), after.fields.get(name)) for name in ("epoch", "step")]
    if epochs is not None and epochs[0] != epochs[1]:
        return epochs[1] < epochs[0]
    total = before.fields.get("total")
    done = steps is not None and isinstance(total, int | float) and steps[0] >= total
    return steps is not None and steps[1] < steps[0] and not done


def _pair(before: Value | None, after: Value | None) -> tuple[float, float] | None:
    return (before, after) if isinstance(before, int | float) and isinstance(after, int | float) else None
