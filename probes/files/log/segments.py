"""Cuts a stream of bytes into segments of whole lines, free of terminal control sequences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SEGMENT = 1 << 17
LINE = 1 << 16
"""A line is matched in its first LINE bytes only."""

SEQUENCES = re.compile(
    rb"(?:\x1b\[|\xc2\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    rb"|(?:\x1b[\]PX^_]|\xc2[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\n\r]{0,4096}(?:\x07|\x1b\\|\xc2\x9c)?"  # OSC, DCS, APC
    rb"|\x1b[ -/]*[0-~]|\x1b"  # two-byte escapes, and a lone one
    rb"|\xc2[\x80-\x9f]"  # C1 controls
)

CONTROLS = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160), *range(8234, 8239), *range(8294, 8298)))


@dataclass(frozen=True, slots=True)
class Segment:
    """Whole lines. `units` has the same length as `data`, with every carriage return made a line feed.

    `offset` counts bytes of clean text before it; `line` is the number of its first line.
    """

    data: bytes
    units: bytes
    offset: int
    line: int
    number: int

    def unit(self, position: int) -> tuple[int, int]:
        """Start and end of the match unit that holds the byte at `position`."""
        start = self.units.rfind(b"\n", 0, position) + 1
        end = self.units.find(b"\n", max(position, start))
        return start, len(self.units) if end < 0 else end

    def line_at(self, position: int) -> int:
        return self.line + self.data.count(b"\n", 0, position)

    def tail(self, size: int) -> Segment:
        """The last lines, of about `size` bytes together."""
        if len(self.units) <= size:
            return self
        cut = self.units.rfind(b"\n", 0, len(self.units) - size) + 1
        return Segment(self.data[cut:], self.units[cut:], self.offset + cut, self.line_at(cut), self.number)


def clean(data: bytes) -> bytes:
    """`data` without escape sequences and C1 controls."""
    if b"\x1b" in data or b"\xc2" in data:
        return SEQUENCES.sub(b"", data)
    return data


def text_of(unit: bytes) -> str:
    """A unit as text: invalid UTF-8 replaced, control and bidirectional-override characters dropped."""
    text = unit.decode("utf-8", "replace")
    # Nearly all lines are free of control characters, which is told in a third of the time.
    return (text if text.isprintable() else text.translate(CONTROLS)).rstrip()


class Cutter:
    """Cuts bytes as they come. A line without end is kept to LINE bytes and a piece at most; `pending` is the last
    line as long as its end has not come, and a carriage return that a line feed may follow."""

    def __init__(self, size: int = SEGMENT) -> None:
        self._size = size
        self.offset, self.line, self._number = 0, 1, 0
        self.pending = b""

    def feed(self, data: bytes) -> Iterator[Segment]:
        """The whole lines of what is pending and `data`."""
        if self.pending[-1:] == b"\r":
            data, self.pending = b"\r" + data, self.pending[:-1]
        end = _last_end(data, 0, len(data) - data.endswith(b"\r"))
        if end > 0:
            whole, self.pending = self.pending + data[:end], data[end:]
            yield from self._cut(whole)
        elif len(self.pending) < LINE:
            self.pending += data
        # else: the middle of an endless line, of which the start is already kept

    def rest(self) -> Iterator[Segment]:
        """What is pending, as the last line of the text."""
        whole, self.pending = self.pending, b""
        yield from self._cut(whole)

    def _cut(self, whole: bytes) -> Iterator[Segment]:
        start = 0
        while start < len(whole):
            # No short rest: it would cost as much as a whole segment.
            end = (
                len(whole) if len(whole) - start < self._size * 5 // 4 else _last_end(whole, start, start + self._size)
            )
            if end <= start:
                end = _first_end(whole, start + self._size)
            data = clean(whole[start:end])
            start = end
            if not data:
                continue
            units = data.replace(b"\r", b"\n") if b"\r" in data else data
            yield Segment(data, units, self.offset, self.line, self._number)
            self.offset += len(data)
            self.line += data.count(b"\n")
            self._number += 1


def segments(chunks: Iterable[bytes], size: int = SEGMENT) -> Iterator[Segment]:
    """`chunks` as segments of about `size` bytes."""
    cutter = Cutter(size)
    for chunk in chunks:
        yield from cutter.feed(chunk)
    yield from cutter.rest()


def _last_end(data: bytes, start: int, end: int) -> int:
    """Position after the last line end in data[start:end], or 0; \\r\\n is never split by a stream that ends in \\r."""
    return max(data.rfind(b"\n", start, end), data.rfind(b"\r", start, end)) + 1


def _first_end(data: bytes, start: int) -> int:
    ends = [end for end in (data.find(b"\n", start), data.find(b"\r", start)) if end >= 0]
    return min(ends) + 1 if ends else len(data)
