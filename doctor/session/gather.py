"""Runs every reader over every file that may be of its kind. A reader that fails costs its own part only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from doctor.facts.model import Event, EventSpec, Fact
from doctor.session.kinds import is_text
from doctor.session.notes import Note
from doctor.session.report import Input
from probes.files.log.stream import chunks

WHOLE = 4 << 20
"""Files up to this size are read whole by the readers of configurations and dumps."""

HEAD = 1 << 18
"""Of larger ones, which are logs, these readers see the beginning: launchers echo their arguments there."""


@dataclass(slots=True)
class Gathered:
    """What all readers together found."""

    inputs: tuple[Input, ...] = ()
    facts: list[Fact] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def gather(files: Sequence[tuple[str, int]], events: Mapping[str, EventSpec]) -> Gathered:
    """Facts and events of `files`, each given as (path, bytes)."""
    gathered = Gathered()
    return gathered
