"""Tells tracebacks that were read often enough, so that a hundred thousand of them do not cost a minute."""

from __future__ import annotations

from collections.abc import Iterable

EXACT = 2000
"""Tracebacks of one kind that are read line by line; a rank each of a large job are so many."""

EXACT_IN_ALL = 20_000
"""Tracebacks of one file that are read line by line; then the first of a kind, and of the others one in SAMPLE."""

SAMPLE = 64
KINDS = 1 << 14
FOLLOWING = 2
"""Lines after the last frame that tell the kind as well: its code, and the exception."""

LONGEST = 1 << 14
DIGITS = b"0123456789"


class Repeats:
    """Counts the tracebacks of one file by kind: the text of their frames and of their end, without numbers."""

    def __init__(self) -> None:
        self._kinds: dict[int, int] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        """Were so many read that single lines between others no longer matter?"""
        return self._count > EXACT_IN_ALL

    def passed(self, units: bytes, headers: Iterable[int], frames: Iterable[int]) -> dict[int, bool]:
        """The starts of lines that need not be read: headers (True) and frames of tracebacks that only repeat."""
        marks = sorted([(start, True) for start in headers] + [(start, False) for start in frames])
        passed: dict[int, bool] = {}
        begin = 0
        for k, (_, is_header) in enumerate([*marks, (len(units), True)]):
            # What stands before the first header continues a traceback of the segment before.
            if is_header and k > begin and marks[begin][1] and self._repeats(units, marks[begin][0], marks[k - 1][0]):
                passed.update(marks[begin:k])
            begin = k if is_header else begin
        return passed

    def _repeats(self, units: bytes, start: int, last: int) -> bool:
        end = last
        for _ in range(1 + FOLLOWING):
            end = units.find(b"\n", end) + 1 or len(units)
        kind = hash(units[start : min(end, start + LONGEST)].translate(None, DIGITS))
        if kind not in self._kinds and len(self._kinds) >= KINDS:
            kind = 0
            self._kinds.setdefault(kind, 1)
        known = self._kinds[kind] = self._kinds.get(kind, 0) + 1
        self._count += 1
        return known > (1 if self.full else EXACT) and self._count % SAMPLE > 0
