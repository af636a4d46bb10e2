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
        cut = self.units.rfind(b"\n", 0, max(0, len(self.units) - size)) + 1
        return Segment(self.data[cut:], self.units[cut:], self.offset + cut, self.line_at(cut), self.number)


def clean(data: bytes) -> bytes:
    """`data` without escape sequences and C1 controls."""
    if b"\x1b" in data or b"\xc2" in data:
        return SEQUENCES.sub(b"", data)
    return data


def text_of(unit: bytes) -> str:
    """A unit as text: invalid UTF-8 replaced, control and bidirectional-override characters dropped."""
    return unit.decode("utf-8", "replace").translate(CONTROLS).rstrip()


def segments(chunks: Iterable[bytes], size: int = SEGMENT) -> Iterator[Segment]:
    """`chunks` as segments of about `size` bytes; a line without end is kept to LINE bytes and a chunk at most."""
    offset, line, number = 0, 1, 0
    for whole in _whole_lines(chunks):
        start = 0
        while start < len(whole):
            # No short rest: it would cost as much as a whole segment.
            end = len(whole) if len(whole) - start < size * 5 // 4 else _last_end(whole, start, start + size)
            if end <= start:
                end = _first_end(whole, start + size)
            data = clean(whole[start:end])
            start = end
            if not data:
                continue
            units = data.replace(b"\r", b"\n") if b"\r" in data else data
            yield Segment(data, units, offset, line, number)
            offset += len(data)
            line += data.count(b"\n")
            number += 1


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    carry = b""
    for chunk in chunks:
        end = _last_end(chunk, 0, len(chunk))
        if end > 0:
            yield carry + chunk[:end]
            carry = chunk[end:]
        elif len(carry) < LINE:
            carry += chunk
        # else: the middle of an endless line, of which the start is already kept
    if carry:
        yield carry


def _last_end(data: bytes, start: int, end: int) -> int:
    """Position after the last line end in data[start:end], or 0; \\r\\n is never split by a stream that ends in \\r."""
    return max(data.rfind(b"\n", start, end), data.rfind(b"\r", start, end)) + 1


def _first_end(data: bytes, start: int) -> int:
    ends = [end for end in (data.find(b"\n", start), data.find(b"\r", start)) if end >= 0]
    return min(ends) + 1 if ends else len(data)
