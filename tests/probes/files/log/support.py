"""Reads short logs for the tests."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.model import Event, EventSpec
from probes.files.log import read_text, read_texts
from tests.probes.files.log.specs import ALL


def events(text: str | bytes, name: str = "job.log", specs: Sequence[EventSpec] = ALL) -> list[Event]:
    """Events of one log, without its `log.last_line`."""
    data = text.encode() if isinstance(text, str) else text
    return [event for event in read_text(name, data, specs).events if event.name != "log.last_line"]


def one(text: str | bytes, name: str = "job.log", specs: Sequence[EventSpec] = ALL) -> Event:
    found = events(text, name, specs)
    assert len(found) == 1, found
    return found[0]


def last_lines(text: str, name: str = "job.log") -> dict[int | None, str]:
    return {
        event.rank: str(event.fields["text"])
        for event in read_text(name, text.encode(), ALL).events
        if event.name == "log.last_line"
    }


def facts(**texts: str) -> dict[tuple[str, str], object]:
    """Facts of logs given as name=text, by name and entity."""
    reading = read_texts([(f"{name}.log", text.encode()) for name, text in texts.items()], ALL)
    return {(fact.name, fact.entity): fact.value for fact in reading.facts}


def labelled(label: str, text: str) -> str:
    """`text` with a label before each of its lines."""
    return "".join(f"{label}{line}\n" for line in text.splitlines())
