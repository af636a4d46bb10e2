"""Where a session's material comes from, read while a person watches: files that were given, or the node itself."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from doctor.session.item import Item, Told
from doctor.session.node import Host, Outcome, known_probes, look, read_node

if TYPE_CHECKING:  # what reads is imported when it is read
    from doctor.rulebase.load import Loaded
    from doctor.session.analyze import Material
    from doctor.session.bundle_writer import Bundled


class Source(Protocol):
    """`paths` are the files and folders that a person named; collecting may take long and is done in a thread."""

    @property
    def paths(self) -> tuple[str, ...]: ...

    @property
    def node(self) -> bool:
        """Is the node itself looked at?"""

    def collect(self, told: Told) -> Material:
        """Reads it all; raises InputError. `told` hears of each item as it changes."""

    def skip(self, name: str) -> None:
        """Waits no longer for an item that is being looked at."""

    def adding(self, path: str) -> Source:
        """The same and one more path."""


@dataclass(frozen=True, slots=True)
class Files:
    """What a job left behind, at and below `paths`."""

    loaded: Loaded
    paths: tuple[str, ...]
    node: ClassVar[bool] = False

    def collect(self, told: Told) -> Material:
        for path in self.paths:
            told(Item(path))
        from doctor.session.analyze import read_paths

        def progress(done: int, total: int) -> None:
            told(replace(Item(self.paths[0]), done=done, total=total))

        material = read_paths(self.paths, self.loaded, progress=progress)
        for path in self.paths:
            told(Item(path, "done"))
        return material

    def skip(self, name: str) -> None:
        """What was named is read: a person who does not want that leaves it out."""

    def adding(self, path: str) -> Files:
        """Without those that are not there: a person corrects a wrong name by adding the right one."""
        there = tuple(known for known in self.paths if "://" in known or os.path.exists(known))
        return replace(self, paths=(*there, path))


@dataclass(frozen=True, slots=True)
class Node:
    """The node this runs on, and files that were named beside it. `names` are the probes to run, all where empty."""

    loaded: Loaded
    host: Host
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    skipped: set[str] = field(default_factory=set, compare=False)
    node: ClassVar[bool] = True

    def collect(self, told: Told) -> Material:
        def ended(outcome: Outcome) -> None:
            gaps, found = outcome.gaps, outcome.found or outcome.texts or outcome.places
            state = "done" if not gaps else "partial" if found else "failed"
            told(Item(outcome.spec.name, state, outcome.seconds, reasons=tuple(gaps)))

        self.skipped.clear()
        for name, spec in known_probes().items():
            if not self.names or name in self.names:
                told(Item(name, most=spec.time_on(self.host)))
        outcomes = look(self.host, self.names, ended, self.skipped)
        for path in self.paths:
            told(Item(path))
        material = read_node(outcomes, self.loaded, self.paths)
        for path in self.paths:
            told(Item(path, "done"))
        return material

    def skip(self, name: str) -> None:
        self.skipped.add(name)

    def adding(self, path: str) -> Node:
        return replace(self, paths=(*self.paths, path))


def bundled(source: Source, loaded: Loaded, target: Path) -> Bundled:
    """Writes a bundle of what the source holds, secrets hidden; raises InputError."""
    from doctor.session.bundle_writer import write_bundle

    outcomes = look(source.host) if isinstance(source, Node) else []
    return write_bundle(str(target), source.paths, loaded.base, outcomes)
