"""A snapshot as columns: what is held at its end, and what was asked for and given back before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from probes.files.memory_snapshot.sites import EARLIER, MOST_FRAMES, UNKNOWN, Frame, frame_of, origin

ALIVE = ("active_allocated", "active_awaiting_free", "active_pending_free")
GROWS, SHRINKS = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")
LARGEST = 1 << 50
"""Bytes beyond any GPU: a size above this is damage."""


class Odd(Exception):
    """The document is no snapshot; the text says why in one line."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asked for memory."""

    category: str
    site: str


OLDER, NOBODY = Origin(EARLIER, ""), Origin(UNKNOWN, "")


@dataclass(frozen=True, slots=True)
class Block:
    address: int
    size: int
    used: int
    alive: bool
    frames: Any


@dataclass(frozen=True, slots=True)
class Segment:
    size: int
    expandable: bool
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history; `time` is in microseconds."""

    action: str
    address: int
    size: int
    time: int
    frames: Any
    free: int = -1


@dataclass(slots=True)
class Device:
    """What one GPU's allocator holds and did."""

    index: int
    segments: list[Segment] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    damaged: int = 0


class Origins:
    """Frames are shared by the stacks of a pickle, and stacks by the blocks they asked for: each is looked at once.

    They are known by their identity, so this must not outlive the document.
    """

    def __init__(self) -> None:
        self._stacks: dict[int, Origin] = {}
        self._frames: dict[int, Frame | None] = {}
        self._same: dict[tuple[str, str], Origin] = {}

    def of(self, frames: Any) -> Origin:
        if not frames or not isinstance(frames, list | tuple):
            return NOBODY
        found = self._stacks.get(id(frames))
        if found is None:
            told = origin(self._frame(frame) for frame in frames[:MOST_FRAMES])
            found = self._stacks[id(frames)] = self._same.setdefault(told, Origin(*told))
        return found

    def _frame(self, told: Any) -> Frame | None:
        key = id(told)
        if key not in self._frames:
            self._frames[key] = frame_of(told)
        return self._frames[key]


def devices(document: Any) -> list[Device]:
    """The devices of a snapshot: a mapping of segments and traces, or the bare list of segments of older versions."""
    if isinstance(document, list):
        document = {"segments": document}
    if not isinstance(document, dict) or not isinstance(document.get("segments"), list | tuple):
        raise Odd("holds no list of segments: it is no memory snapshot")
    found: dict[int, Device] = {}
    seen: set[int] = set()
    for told in document["segments"]:
        if isinstance(told, dict):
            device = found.setdefault(index := _whole(told.get("device")), Device(index))
            _once(told.get("blocks"), seen)
            device.segments.append(_segment(told, device))
    traces = document.get("device_traces")
    for index, trace in enumerate(traces if isinstance(traces, list | tuple) else ()):
        if isinstance(trace, list | tuple) and trace:
            _once(trace, seen)
            device = found.setdefault(index, Device(index))
            device.entries = list(_entries(trace, device))
    return [found[index] for index in sorted(found)]


def _once(told: Any, seen: set[int]) -> None:
    """Raises Odd for a list that stood elsewhere before: a pickle may name one list any number of times for two bytes
    each, and no allocator has the same blocks or history twice."""
    if isinstance(told, list | tuple) and told:
        if id(told) in seen:
            raise Odd("names one list of blocks or events in several places, which no snapshot does")
        seen.add(id(told))


def _segment(told: dict[str, Any], device: Device) -> Segment:
    at = _whole(told.get("address"))
    blocks = []
    listed = told.get("blocks")
    for block in listed if isinstance(listed, list | tuple) else ():
        if not isinstance(block, dict):
            continue
        size = _size(block.get("size"))
        if size < 0:
            device.damaged += 1
            continue
        address = _whole(block.get("address")) or at
        history = block.get("history")
        first = history[0] if isinstance(history, list | tuple) and history and isinstance(history[0], dict) else {}
        frames = block.get("frames") or first.get("frames")
        used = _size(block.get("requested_size", first.get("real_size", size)))
        state = str(block.get("state", ""))
        blocks.append(Block(address, size, used if 0 < used <= size else size, state in ALIVE, frames))
        at = address + size
    size = _size(told.get("total_size"))
    if size < 0:
        device.damaged += 1
    return Segment(max(size, 0), bool(told.get("is_expandable")), tuple(blocks))


def _entries(trace: list[Any] | tuple[Any, ...], device: Device) -> Iterator[Entry]:
    for told in trace:
        if not isinstance(told, dict):
            device.damaged += 1
            continue
        size = _size(told.get("size"))
        action = told.get("action")
        if not isinstance(action, str) or (size < 0 and action != "snapshot"):
            device.damaged += 1
            continue
        free = _size(told["device_free"]) if "device_free" in told else -1
        yield Entry(action, _whole(told.get("addr")), size, _whole(told.get("time_us")), told.get("frames"), free)


def _whole(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 64 else 0


def _size(value: Any) -> int:
    """A number of bytes; -1 for what cannot be one."""
    return value if type(value) is int and 0 <= value <= LARGEST else -1
