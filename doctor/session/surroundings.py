"""The lines around those that prove something, read again from where their file lies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from doctor.facts.model import Source
from doctor.session.log_window import LogWindow
from doctor.session.redact import Redactor
from doctor.session.report import Input

BEFORE, AFTER = 4, 3
FARTHEST, MOST = 1 << 30, 200
"""Bytes of a file that is looked into, and places that are looked up in one report."""
TOLD = 60
"""Letters of a line by which it is known again."""
STEERING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Control sequences of terminals (ECMA-48, 5.4), which only colour a log."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Lines as they stand in the file; the first of them has the number `first`, from 1."""

    first: int
    lines: tuple[str, ...]


def surroundings(inputs: Sequence[Input], sources: Iterable[Source]) -> dict[tuple[str, int], Surroundings]:
    """What stands around sources that are lines of files, by (path, line). Files that are packed, have gone or changed
    since are left out. Secrets that happen to stand there are hidden."""
    places = {given.path: given.place for given in inputs if given.place and given.bytes <= FARTHEST}
    wanted: dict[str, list[Source]] = {}
    told = [s for s in dict.fromkeys(sources) if s.line > 0 and s.path in places]
    for source in told[:MOST]:
        wanted.setdefault(source.path, []).append(source)
    found: dict[tuple[str, int], Surroundings] = {}
    redactor = Redactor(keep_hosts=True)
    for path, of_file in wanted.items():
        with suppress(OSError):
            window = LogWindow(Path(places[path]))
            try:
                for source in of_file:
                    first = max(source.line - BEFORE, 1)
                    read = window.lines(first, source.line - first + AFTER + 1)
                    lines = tuple(STEERING.sub("", line) for line in read)
                    if len(lines) > source.line - first and _same(lines[source.line - first], source.text):
                        redactor.begin()
                        found[path, source.line] = Surroundings(first, tuple(map(redactor.stage, lines)))
            finally:
                window.close()
    return found


def _same(line: str, quoted: str) -> bool:
    """Is the line that was quoted still there? Its reader drops control characters, and takes what a progress bar
    overwrites for lines of their own."""
    letters = "".join(filter(str.isalnum, quoted))[:TOLD]
    return bool(letters) and letters in "".join(filter(str.isalnum, line))
