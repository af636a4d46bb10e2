"""Files in, report out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from doctor.engine.diagnose import diagnose
from doctor.engine.model import Diagnosis, Verdict
from doctor.facts.derive import run_derivations
from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore
from doctor.rulebase.load import Loaded, load_rulebase
from doctor.rulebase.model import RuleBase
from doctor.session.answers import Answers, read_answers
from doctor.session.archives import expanded
from doctor.session.asked import asked, suggested
from doctor.session.contents import File
from doctor.session.gather import gather
from doctor.session.inputs import InputError, collect
from doctor.session.notes import Note
from doctor.session.patches import patched
from doctor.session.remote import fetched, is_remote
from doctor.session.report import Input, Patches, Report
from doctor.session.spool import Spool
from doctor.session.unread import unread
from probes.files.elsewhere import Elsewhere
from probes.files.trace import Progress

if TYPE_CHECKING:
    from doctor.session.edits import Edits
    from doctor.session.plan import Planned

STDIN, STDIN_NAME, PIECE = "-", "stdin", 1 << 20
LARGEST_CONFIG, MOST_CONFIGS = 1 << 20, 20
SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".lsf")


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
    loaded = Loaded(rulebase) if rulebase is not None else load_rulebase(rules_dirs)
    told = read_answers(answers, loaded.base.catalogue, loaded.base.questions) if answers else Answers()
    return judge(read_paths(paths, loaded, facts, stdin), told)


@dataclass(frozen=True, slots=True)
class Material:
    """What was read, and the rules to judge it by: kept while a person is asked, since each answer judges it anew.

    `configs` are the job's configurations as they stand, by path, for a change of them to be shown.
    """

    loaded: Loaded
    inputs: tuple[Input, ...]
    facts: tuple[Fact, ...]
    events: tuple[Event, ...]
    notes: tuple[Note, ...]
    configs: tuple[tuple[str, bytes], ...] = ()


def read_paths(
    paths: Sequence[str | os.PathLike[str]],
    loaded: Loaded,
    facts: Iterable[Fact] = (),
    stdin: IO[bytes] | None = None,
    progress: Progress | None = None,
    place: str | None = None,
) -> Material:
    """Reads the files at and below `paths`; raises InputError as above. `progress` is told (done, all).

    `place` names a cluster that reads them (doctor/session/cluster.py); the answer is the same.
    """
    with Spool() as spool:
        if place is None:
            return _read(paths, loaded, facts, stdin, spool, progress)
        from doctor.session.cluster import cluster

        with cluster(place) as workers:
            material = _read(paths, loaded, facts, stdin, spool, progress, workers)
        told = [Note("cluster.says", place, {"text": text}) for text in workers.remarks]
        return replace(material, notes=(*material.notes, *told))


def _read(
    paths: Sequence[str | os.PathLike[str]],
    loaded: Loaded,
    facts: Iterable[Fact],
    stdin: IO[bytes] | None,
    spool: Spool,
    progress: Progress | None,
    elsewhere: Elsewhere | None = None,
) -> Material:
    given = [path for path in paths if stdin is None or path != STDIN]
    places = [path for path in given if not is_remote(path)]
    found = collect(places)
    piped, notes = _piped(stdin, spool) if stdin is not None and STDIN in paths else ([], [])
    notes += [replace(note, path=_shown(note.path, places)) for note in found.notes]
    far = fetched([os.fspath(path) for path in given if is_remote(path)], spool, notes)
    files = expanded([*piped, *shown_files(found.files, places), *far], spool, notes)
    gathered = gather(files, loaded.base.events, progress, elsewhere)
    if paths and not any(given.kind for given in gathered.inputs):
        told = notes + [note for given in gathered.inputs for note in given.notes]
        raise InputError(told[0] if told else Note("input.nothing_told", os.fspath(paths[0])))
    known = (*gathered.facts, *facts)
    configs = configs_of(files, gathered.inputs)
    return Material(loaded, tuple(gathered.inputs), known, tuple(gathered.events), tuple(notes), configs)


def configs_of(files: Sequence[File], inputs: Sequence[Input]) -> tuple[tuple[str, bytes], ...]:
    """The files that configure the job, and its scripts, also those in which no setting stands."""
    named = {given.path for given in inputs if given.kind == "config"}
    scripts = [file for file in files if file.name.lower().endswith(SCRIPTS)]
    wanted = dict.fromkeys([*(file for file in files if file.name in named), *scripts])
    chosen = [file for file in wanted if file.bytes <= LARGEST_CONFIG][:MOST_CONFIGS]
    found = []
    for file in chosen:
        with suppress(OSError):
            found.append((file.name, Path(file.path).read_bytes()))
    return tuple(found)


def judge(material: Material, answers: Answers, *, planning: bool = True) -> Report:
    """The diagnosis of what was read and what a person said. Without `planning` no remedy is planned or written."""
    base = material.loaded.base
    store = FactStore([*material.facts, *answers.facts], material.events)
    broken = [Note("derivation.failed", "", {"reason": reason}) for reason in run_derivations(store)]
    diagnosis = diagnose(store, base, answers.asked)
    if diagnosis.verdict is Verdict.HEALTHY and unread(material.inputs, material.facts):
        diagnosis = replace(diagnosis, verdict=Verdict.UNDETERMINED)
    patches = patched(diagnosis, store, base)
    plan = _planned(diagnosis, store, patches) if planning else None
    taken = suggested(diagnosis, plan)
    return Report(
        inputs=material.inputs,
        store=store,
        rulebase=base,
        diagnosis=diagnosis,
        notes=(*material.notes, *broken),
        problems=material.loaded.problems,
        patched=patches,
        planned=plan,
        taken=taken,
        edits=edits_of(taken, material, diagnosis, store, patches, plan) if planning else None,
    )


def _planned(diagnosis: Diagnosis, store: FactStore, patches: Patches) -> Planned | None:
    """The planner is loaded only where a remedy sets something and something is known of the job's settings."""
    if not any(patches.values()) or not any(fact.name.startswith("config.") for fact in store.facts()):
        return None
    from doctor.session.plan import planned

    return planned(diagnosis, store, patches)


def edits_of(
    names: Sequence[str],
    material: Material,
    diagnosis: Diagnosis,
    store: FactStore,
    patches: Patches,
    plan: Planned | None,
) -> Edits | None:
    """The remedies as changes of the files; None where there are no files or nothing is to be changed."""
    whole = plan.plan if plan else None
    wanted = asked(names, diagnosis, store, patches, plan)
    if not material.configs or not (whole or any(each.settings or each.flags or each.env for each in wanted)):
        return None
    from doctor.session.edits import edits

    today = plan.before.job if plan and plan.before else None
    return edits(dict(material.configs), wanted, today, whole.effect.after.job if whole else None)


def _piped(stdin: IO[bytes], spool: Spool) -> tuple[list[File], list[Note]]:
    """What comes over standard input, laid down in a file: the readers go over a file more than once."""
    try:
        path, size, cut = spool.save(iter(lambda: stdin.read(PIECE), b""), spool.room)
    except OSError as error:
        return [], [Note("input.unreadable", STDIN_NAME, {"reason": error.strerror or str(error)})]
    notes = [Note("input.stdin_cut", STDIN_NAME, {"limit": f"{size:,}"})] if cut else []
    return [File(str(path), STDIN_NAME, size)], notes


def shown_files(files: Sequence[tuple[str, int]], paths: Sequence[str | os.PathLike[str]]) -> list[File]:
    """The files under the names that they are shown by."""
    return [File(path, _shown(path, paths), size) for path, size in files]


def _shown(path: str, paths: Sequence[str | os.PathLike[str]]) -> str:
    """The name a file is shown by: its path within the folder, if one was given, else as it was given."""
    root = os.fspath(paths[0])
    inside = len(paths) == 1 and path != root and os.path.isdir(root)
    return os.path.relpath(path, root) if inside else path
