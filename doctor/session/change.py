"""A change of settings as diffs of the user's own files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doctor.adapters.diff import unified
from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Adapter, Note
from doctor.adapters.registry import adapter_for, decoded
from doctor.adapters.resume import consequences
from doctor.planner.errors import PlanError
from doctor.planner.job import Job
from doctor.planner.knobs import difference, value

# Settings that follow from others and have no words of their own.
FOLLOW = frozenset({"schedule", "stack"})
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
    wanted = {name: new for name, (_, new) in difference(before, after).items() if name not in FOLLOW}
    texts = {path: text for path, data in configs.items() if (text := _text(data))}
    files = {path: adapter for path, text in texts.items() if (adapter := adapter_for(path, text))}
    stated = {path: set(_stated(adapter, texts[path], path)) for path, adapter in files.items()}
    if not wanted or not files:
        return ()
    main = max(files, key=lambda path: len(stated[path]))
    share: dict[str, dict[str, Any]] = {}
    for name, new in wanted.items():
        place = next((path for path in files if name in stated[path]), main)
        share.setdefault(place, {})[name] = new
    known = {name: value(after, name) for name in KNOWN}
    found = [_change(files[path], path, texts[path], changes, known) for path, changes in share.items()]
    return tuple(change for change in found if change.diff or change.notes)


def _change(adapter: Adapter, path: str, text: str, changes: Mapping[str, Any], known: Mapping[str, Any]) -> FileChange:
    try:
        rendered = adapter.render(text, changes, known, path)
        diff = unified(path, text, rendered.text)
        after = tuple(note for note in consequences(adapter.name, changes) if note.knob != "restart") if diff else ()
        return FileChange(path, diff, rendered.notes + after)
    except (AdapterError, PlanError) as error:
        return FileChange(path, "", (Note(", ".join(changes), str(error), str(error), written=False),))


def _text(data: bytes) -> str:
    try:
        return decoded(data)
    except AdapterError:
        return ""


def _stated(adapter: Adapter, text: str, path: str) -> Mapping[str, Any]:
    try:
        return adapter.read(text, path)
    except (AdapterError, PlanError):
        return {}
