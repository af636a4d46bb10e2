"""Reads one trace file into columns: a block of events at a time, whatever the year it was written in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np

from probes.files.stream import unpacked
from probes.files.trace.columns import (
    EXACT_PARTS,
    Called,
    Collective,
    Interned,
    Ints,
    Mark,
    Table,
    collective_of,
    times,
)
from probes.files.trace.names import DEVICE_CATEGORIES, ITEM_OPS, RUNTIME_CATEGORIES, Call, call_of
from probes.files.trace.repair import mended, one_by_one
from probes.files.trace.schema import Args, Complete, Id, Instant, decoder
from probes.files.trace.skip import Skipping
from probes.files.trace.split import Cut, blocks
from probes.files.uncollected import uncollected

LONG_NAME = 1000
MOST_UNREADABLE = 100_000
"""After so many events that nothing mends, and next to none that is good, the rest is not tried one by one."""

PACKED = 16
"""Traces shrink to a sixteenth or less."""
FINE_EPOCH = re.compile(rb'"ts"\s*:\s*"?\d{14,}\.\d')
PYTHON_MARKS = re.compile(
    r"built-in (?:method|function) collect\b|\bgc\.collect|dataloader\.py\(\d+\): __?next|/gc\.py"
    r"|checkpoint\.py\(\d+\): recompute_fn"
)
WINDOW_END = "Record Window End"


@dataclass(slots=True)
class Trace:
    """The columns of one file. `device` counts in `places` of the tables: (device, stream) and host threads."""

    head: dict[str, Any] = field(default_factory=dict)
    device: Table = field(default_factory=Table)
    host: Table = field(default_factory=Table)
    names: Interned[tuple[str, str]] = field(default_factory=Interned)
    calls: Interned[str] = field(default_factory=Interned)
    places: Interned[tuple[Id, Id]] = field(default_factory=Interned)
    threads: Interned[Id] = field(default_factory=Interned)
    marks: list[Mark] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    signatures: Interned[tuple[object, ...]] = field(default_factory=Interned)
    called: Called = field(default_factory=Called)
    events: int = 0
    unreadable: int = 0
    mended: bool = False
    rounded: bool = False
    window_end: bool = False
    large: bool = False
    first: int = 1 << 62
    last: int = 0
    text: int = 0
    cut: Cut = field(default_factory=Cut)
    warnings: list[str] = field(default_factory=list)


def read_trace(path: Path) -> Trace:
    """The columns of the trace at `path`; OSError when it cannot be opened."""
    trace = Trace(large=path.stat().st_size > Skipping.SMALL // (PACKED if _packed(path) else 1))
    skipping = Skipping()
    with uncollected():
        for block in blocks(_counted(unpacked(path, trace.warnings.append), trace), trace.cut):
            _block(trace, block, skipping)
    trace.head = _head(trace.cut)
    return trace


def _packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1) != b"{"


def _counted(pieces: Iterable[bytes], trace: Trace) -> Iterator[bytes]:
    for piece in pieces:
        trace.text += len(piece)
        yield piece


def _block(trace: Trace, block: bytes, skipping: Skipping) -> None:
    precise = trace.rounded or (trace.events == 0 and FINE_EPOCH.search(block) is not None)
    kept = skipping.needed(block, trace.cut.separator) if trace.large else None
    if kept is not None:
        try:
            events = decoder(precise).decode(kept) if len(kept) > 2 else []
        except (ValueError, RecursionError):
            kept = None
        else:
            trace.events += skipping.passed
    if kept is None:
        events = _all_of(trace, block, precise)
    _take(trace, events, precise, block)


def _all_of(trace: Trace, block: bytes, precise: bool) -> list[Any]:
    """Every event of a block, mended where it must be."""
    for mend in (bytes, mended):
        try:
            events: list[Any] = decoder(precise).decode(b"[" + mend(block) + b"]")
            return events
        except (ValueError, RecursionError):
            trace.mended = True
    if trace.unreadable > MOST_UNREADABLE and trace.unreadable > 10 * trace.events:
        trace.unreadable += block.count(b'"ph"')
        return []
    found = list(one_by_one(block, precise))
    trace.unreadable += sum(event is None for event in found)
    return [event for event in found if event is not None]


def _take(trace: Trace, events: list[Any], precise: bool, block: bytes) -> None:
    if precise:
        trace.rounded = True
    trace.events += len(events)
    whole = [event for event in events if isinstance(event, Complete)]
    if len(whole) < len(events):
        trace.window_end |= any(isinstance(event, Instant) and event.name == WINDOW_END for event in events)
    if not precise and _finer_than_doubles([event.ts for event in whole]):
        trace.events -= len(events)
        _take(trace, [event for event in one_by_one(block, True) if event is not None], True, block)
        return
    device, host, rest = [], [], []
    for event in whole:
        category = event.cat
        if category in _DEVICE:
            device.append(event)
        elif category in _RUNTIME:
            host.append(event)
        else:
            rest.append(event)
    if device:
        _device(trace, device)
    if host:
        _host(trace, host)
    if rest:
        _rest(trace, rest)


def _finer_than_doubles(stamps: list[float]) -> bool:
    """Are there parts of a microsecond since the epoch? A double would round them, so they are read as printed."""
    values = np.array(stamps, dtype=np.float64)
    return bool(len(values)) and bool((values[values >= EXACT_PARTS] % 1).any())


def _window(trace: Trace, starts: Ints) -> None:
    """Widens the time that was recorded by the beginnings of events."""
    placed = starts[starts > 0]
    if len(placed):
        trace.first = min(trace.first, int(placed.min()))
        trace.last = max(trace.last, int(placed.max()))


_DEVICE = {spelling: name for name in DEVICE_CATEGORIES for spelling in (name, name.capitalize())}
_RUNTIME = {spelling for name in RUNTIME_CATEGORIES for spelling in (name, name.capitalize())}


def _device(trace: Trace, events: list[Complete]) -> None:
    starts, durations = times(events)
    _window(trace, starts)
    arguments = [event.args for event in events]
    first = len(trace.device)
    names, places = trace.names, trace.places
    trace.device.extend(
        starts,
        durations,
        [names[_DEVICE[event.cat], event.name] for event in events],
        [
            places[event.pid if args.device is None else args.device, args.stream]
            for event, args in zip(events, arguments, strict=True)
        ],
        [args.correlation for args in arguments],
    )
    for index, args in enumerate(arguments, first):
        if args.collective is not None:
            trace.called.add(index, _signature(trace, args), args.sequence)


def _signature(trace: Trace, args: Args) -> int:
    key = (args.collective, args.group, args.ranks, args.dtype, args.sent, args.received, args.size)
    number = trace.signatures[key]
    if number == len(trace.collectives):
        trace.collectives.append(collective_of(args, intern))
    return number


def _host(trace: Trace, events: list[Complete]) -> None:
    calls = trace.calls
    kinds = [_call(event.name) for event in events]
    wanted = [event for event, kind in zip(events, kinds, strict=True) if kind is not Call.OTHER]
    if not wanted:
        return
    starts, durations = times(wanted)
    _window(trace, starts)
    trace.host.extend(
        starts,
        durations,
        [calls[event.name] for event in wanted],
        [trace.threads[event.tid] for event in wanted],
        [event.args.correlation for event in wanted],
    )


_CALLS: dict[str, Call] = {}


def _call(name: str) -> Call:
    kind = _CALLS.get(name)
    if kind is None:
        kind = call_of(name)
        if len(_CALLS) < 10_000:
            _CALLS[name] = kind
    return kind


def _rest(trace: Trace, events: list[Complete]) -> None:
    marks = [event for event in events if _marks(event.cat, event.name)]
    if not marks:
        return
    starts, durations = times(marks)
    _window(trace, starts)
    for event, start, duration in zip(marks, starts.tolist(), durations.tolist(), strict=True):
        trace.marks.append(Mark(intern(event.name[:LONG_NAME]), start, duration, trace.threads[event.tid]))


def _marks(category: str, name: str) -> bool:
    """Is a range on the host of use?"""
    if category == "cpu_op" or category == "Operator":
        return name in ITEM_OPS or name.startswith(("ProfilerStep", "enumerate("))
    if category == "python_function":
        return PYTHON_MARKS.search(name) is not None
    return category == "user_annotation"


def _head(cut: Cut) -> dict[str, Any]:
    """What stands around the events; a part that is damaged is left out."""
    import msgspec

    from probes.files.trace.header import salvage

    if cut.bare:
        return {}
    try:
        found = msgspec.json.decode(cut.head + b'"traceEvents":[]' + (cut.tail if cut.closed else b"}"))
        return found if isinstance(found, dict) else {}
    except (ValueError, RecursionError):
        return salvage(cut.head, cut.tail)


def device_numbers(trace: Trace) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The number of the device of each place; -1 for one that is no number."""
    numbers = [_number(device) for device, _ in trace.places]
    return np.array(numbers or [-1], dtype=np.int32)


def _number(device: Id) -> int:
    if isinstance(device, int):
        return device if 0 <= device < 1 << 30 else -1
    text = str(device)
    return int(text) if text.isdecimal() and len(text) < 9 else -1
