"""The readers, found by listing their folder."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from doctor.facts.model import Fact
from probes.files.node_dump import readers as folder
from probes.files.node_dump.text import Block
from probes.files.strings import Strings


class Reader(Protocol):
    """One format. `MARKS` are plain strings of which a text must hold one to be looked at any further.

    `recognise` gives the parts of a block that are this format, none when it is another one; `read` gives the facts
    of one such part.
    """

    KIND: str
    MARKS: tuple[str, ...]

    def recognise(self, block: Block) -> list[Block]: ...

    def read(self, section: Block) -> Iterable[Fact]: ...


@cache
def readers() -> tuple[Reader, ...]:
    names = sorted(module.name for module in iter_modules(folder.__path__))
    return tuple(cast(Reader, import_module(f"{folder.__name__}.{name}")) for name in names)


def readers_for(text: str) -> list[Reader]:
    """Those of which `text` holds a mark."""
    held = _marks().within(text)
    return [reader for reader in readers() if not held.isdisjoint(reader.MARKS)]


@cache
def _marks() -> Strings:
    return Strings(mark for reader in readers() for mark in reader.MARKS)
