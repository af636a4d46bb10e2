"""What goes into the log probe and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from doctor.facts.model import Event, Fact


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log to read; `name` is how its path is shown."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class InputInfo:
    """What is known of one file that was read.

    `bytes` is its size as stored; `rank` and `host` are given if the file is of one.
    """

    path: str
    kind: str
    bytes: int
    rank: int | None = None
    host: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogReading:
    """Events in the order of the files and of the lines within each; facts; and one `InputInfo` a file."""

    events: list[Event] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    inputs: list[InputInfo] = field(default_factory=list)
