"""Files in, report out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from doctor.engine.diagnose import diagnose
from doctor.facts.derive import run_derivations
from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from doctor.rulebase.load import Loaded, load_rulebase
from doctor.rulebase.model import RuleBase
from doctor.session.answers import read_answers
from doctor.session.archives import expanded
from doctor.session.contents import File
from doctor.session.gather import gather
from doctor.session.inputs import InputError, collect
from doctor.session.notes import Note
from doctor.session.patches import patched
from doctor.session.report import Report
from doctor.session.spool import Spool

STDIN, STDIN_NAME, PIECE = "-", "stdin", 1 << 20


def analyze_paths(
    paths: Sequence[str | os.PathLike[str]],
    rules_dirs: Sequence[Path] = (),
    answers: str | None = None,
    *,
    rulebase: RuleBase | None = None,
    facts: Iterable[Fact] = (),
    stdin: IO[bytes] | None = None,
) -> Report:
    """Reads the files at and below `paths` and diagnoses the job that left them.

    `rules_dirs` hold rules beside those that come with pdoctor, `answers` is a file of facts that a person states;
    `rulebase` and `facts` are taken as they are. The path `-` stands for `stdin`, where that is given.
    Raises InputError when a path does not exist, when nothing at all could be read, or when the answers are wrong.
    """
    with Spool() as spool:
        return _analyze(paths, rules_dirs, answers, rulebase, facts, stdin, spool)


def _analyze(
    paths: Sequence[str | os.PathLike[str]],
    rules_dirs: Sequence[Path],
    answers: str | None,
    rulebase: RuleBase | None,
    facts: Iterable[Fact],
    stdin: IO[bytes] | None,
    spool: Spool,
) -> Report:
    places = [path for path in paths if stdin is None or path != STDIN]
    found = collect(places)
    loaded = Loaded(rulebase) if rulebase is not None else load_rulebase(rules_dirs)
    base = loaded.base
    stated = list(read_answers(answers, base.catalogue)) if answers else []
    piped, notes = _piped(stdin, spool) if stdin is not None and STDIN in paths else ([], [])
    notes += [replace(note, path=_shown(note.path, places)) for note in found.notes]
    files = expanded([*piped, *_named(found.files, places)], spool, notes)
    gathered = gather(files, base.events)
    if paths and not any(given.kind for given in gathered.inputs):
        raise InputError((notes + [note for given in gathered.inputs for note in given.notes])[0])
    store = FactStore([*gathered.facts, *facts, *stated], gathered.events)
    notes += [Note("derivation.failed", "", {"reason": broken}) for broken in run_derivations(store)]
    diagnosis = diagnose(store, base)
    return Report(
        inputs=tuple(gathered.inputs),
        store=store,
        rulebase=base,
        diagnosis=diagnosis,
        notes=tuple(notes),
        problems=loaded.problems,
        patched=patched(diagnosis, store, base),
    )


def _piped(stdin: IO[bytes], spool: Spool) -> tuple[list[File], list[Note]]:
    """What comes over standard input, laid down in a file: the readers go over a file more than once."""
    try:
        path, size, cut = spool.save(iter(lambda: stdin.read(PIECE), b""), spool.room)
    except OSError as error:
        return [], [Note("input.unreadable", STDIN_NAME, {"reason": error.strerror or str(error)})]
    notes = [Note("input.stdin_cut", STDIN_NAME, {"limit": f"{size:,}"})] if cut else []
    return [File(str(path), STDIN_NAME, size)], notes


def _named(files: Sequence[tuple[str, int]], paths: Sequence[str | os.PathLike[str]]) -> list[File]:
    return [File(path, _shown(path, paths), size) for path, size in files]


def _shown(path: str, paths: Sequence[str | os.PathLike[str]]) -> str:
    """The name a file is shown by: its path within the folder, if one was given, else as it was given."""
    root = os.fspath(paths[0])
    inside = len(paths) == 1 and path != root and os.path.isdir(root)
    return os.path.relpath(path, root) if inside else path
