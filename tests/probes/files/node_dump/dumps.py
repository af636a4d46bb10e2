"""Reading a dump in one line of a test."""

from __future__ import annotations

from doctor.facts.model import Value
from probes.files.node_dump import read_dump


def facts(text: str, name: str = "dump.txt", host: str | None = None) -> dict[tuple[str, str], Value]:
    """Values by entity and fact name; the first one where a fact is stated twice, as the store has it."""
    found: dict[tuple[str, str], Value] = {}
    reading = read_dump(name, text.encode(), host)
    assert not reading.warnings
    for fact in reading.facts:
        found.setdefault((fact.entity, fact.name), fact.value)
    return found


def node(text: str) -> dict[str, Value]:
    """Values of the node that nobody names, and of the job."""
    return {name: value for (entity, name), value in facts(text).items() if entity in ("node:?", "job")}


def kinds(text: str) -> tuple[str, ...]:
    return read_dump("dump.txt", text.encode()).kinds


def survives(text: str) -> None:
    """Cut anywhere, with numbers that no computer has, or with its columns mixed up, a dump costs nothing but facts."""
    for end in range(0, len(text), max(len(text) // 60, 1)):
        read_dump("dump.txt", text[:end].encode())
        read_dump("dump.txt", text[end:].encode())
    for digits in ("9" * 400, "-1", "1e999", "\x00", "٣"):
        hostile = "".join(digits if sign.isdigit() else sign for sign in text)
        read_dump("dump.txt", hostile.encode())
    read_dump("dump.txt", "\n".join(reversed(text.splitlines())).encode())
    read_dump("dump.txt", " ".join(text.split()).encode())
