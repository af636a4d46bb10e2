"""A change of settings as diffs of the user's own files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from doctor.adapters.diff import unified
from doctor.adapters.errors import AdapterError
from doctor.adapters.launch_script import is_launch_script
from doctor.adapters.model import Adapter, Note, Rendered
from doctor.adapters.registry import adapter_for, decoded
from doctor.adapters.resume import consequences
from doctor.planner.errors import PlanError
from doctor.planner.job import Job
from doctor.planner.knobs import difference, value

# Settings that follow from others and have no words of their own.
FOLLOW = frozenset({"schedule", "stack"})
LARGEST, MOST_IN_ALL = 64 * 1024, 256 * 1024
KNOWN = ("tp", "cp", "pp", "dp", "vpp", "ep", "etp", "micro_batch", "global_batch", "grad_accum")


@dataclass(frozen=True, slots=True)
class FileChange:
    """diff: unified, for `patch -p1`; notes: what its reader must know, and settings that could not be written."""

    path: str
    diff: str
    notes: tuple[Note, ...] = ()


def changed_files(configs: Mapping[str, bytes], before: Job, after: Job) -> tuple[FileChange, ...]:
    """The diffs that turn the job `before` into `after`. configs: the job's configuration by path.

    A setting is changed in the file that states it; one that none states goes to the file that states most others.
    Files that no adapter knows are left alone.
    """
    draft = Draft(configs)
    draft.change_job(before, after)
    return draft.files()


class Draft:
    """The job's files while they are changed: every change is made to what the one before left."""

    def __init__(self, configs: Mapping[str, bytes]) -> None:
        self.given = {path: text for path, data in _bounded(configs) if (text := _text(data))}
        self.texts = dict(self.given)
        self.adapters = {path: found for path, text in self.given.items() if (found := adapter_for(path, text))}
        self.scripts = tuple(path for path, text in self.given.items() if is_launch_script(path, text))
        self._notes: dict[str, list[Note]] = {}
        self._stated: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def files(self) -> tuple[FileChange, ...]:
        """One change a file, with all that was made to it."""
        found = []
        for path, text in self.texts.items():
            notes = tuple(dict.fromkeys(self._notes.get(path, ())))
            try:
                diff = unified(path, self.given[path], text)
            except AdapterError as error:
                diff, notes = "", (Note(path, error.text.en, error.text.zh, written=False),)
            if diff or notes:
                found.append(FileChange(path, diff, notes))
        return tuple(found)

    def change_job(self, before: Job, after: Job) -> None:
        """Writes the settings in which the two jobs differ; what cannot be written is a note."""
        wanted = {name: new for name, (_, new) in difference(before, after).items() if name not in FOLLOW}
        self.render(wanted, {name: value(after, name) for name in KNOWN})

    def render(self, wanted: Mapping[str, Any], known: Mapping[str, Any]) -> tuple[Note, ...]:
        """Writes neutral settings, each into the file that states it; gives the notes on what could not be written."""
        if not wanted or not self.adapters:
            return ()
        stated = {path: set(self.stated(path)) for path in self.adapters}
        main = max(self.adapters, key=lambda path: len(stated[path]))
        share: dict[str, dict[str, Any]] = {}
        for name, new in wanted.items():
            place = next((path for path in self.adapters if name in stated[path]), main)
            share.setdefault(place, {})[name] = new
        left: list[Note] = []
        for path, changes in share.items():
            adapter, text = self.adapters[path], self.texts[path]
            try:
                rendered = adapter.render(text, changes, known, path)
            except (AdapterError, PlanError) as error:
                rendered = Rendered(text, (Note(", ".join(changes), error.text.en, error.text.zh, written=False),))
            after = consequences(adapter.name, changes) if rendered.text != text else ()
            self.put(path, rendered.text, (*rendered.notes, *(note for note in after if note.knob != "restart")))
            left += rendered.left
        return tuple(left)

    def put(self, path: str, text: str, notes: Iterable[Note] = ()) -> None:
        self.texts[path] = text
        self._notes.setdefault(path, []).extend(notes)

    def stated(self, path: str) -> Mapping[str, Any]:
        """The neutral settings that a file states now, by name."""
        text, known = self._stated.get(path, ("", {}))
        if text != self.texts[path]:
            known = _stated(self.adapters[path], self.texts[path], path)
            self._stated[path] = (self.texts[path], known)
        return known

    def main(self, paths: Iterable[str]) -> str:
        """Of several files the one that states most of the job."""
        return max(paths, key=lambda path: len(self.stated(path)) if path in self.adapters else 0)


def _bounded(configs: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Files of a size that people write by hand: what is larger is made by programs, and takes long to edit."""
    room = MOST_IN_ALL
    for path, data in configs.items():
        if len(data) <= min(LARGEST, room):
            room -= len(data)
            yield path, data


def _text(data: bytes) -> str:
    try:
        return decoded(data)
    except AdapterError:
        return ""


def _stated(adapter: Adapter, text: str, path: str) -> dict[str, Any]:
    try:
        return {name: found.value for name, found in adapter.read(text, path).items()}
    except (AdapterError, PlanError):
        return {}
