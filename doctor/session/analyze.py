"""Files in, report out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.engine.diagnose import diagnose
from doctor.engine.model import Diagnosis
from doctor.engine.situation import Situation
from doctor.facts.derive import run_derivations
from doctor.facts.model import Value
from doctor.facts.store import FactStore
from doctor.rulebase.expression import evaluate
from doctor.rulebase.load import load_rulebase
from doctor.rulebase.model import RuleBase
from doctor.session.answers import read_answers
from doctor.session.gather import gather
from doctor.session.inputs import InputError, collect
from doctor.session.notes import Note
from doctor.session.report import Patched, Report


def analyze_paths(
    paths: Sequence[str | os.PathLike[str]], rules_dirs: Sequence[Path] = (), answers: str | None = None
) -> Report:
    """Reads the files at and below `paths` and diagnoses the job that left them.

    `rules_dirs` hold rules beside those that come with pdoctor, `answers` is a file of facts that a person states.
    Raises InputError when a path does not exist, when nothing at all could be read, or when the answers are wrong.
    """
    found = collect(paths)
    loaded = load_rulebase(rules_dirs)
    stated = list(read_answers(answers, loaded.base.catalogue)) if answers else []
    gathered = gather(found.files, loaded.base.events)
    notes = [*found.notes, *gathered.notes]
    if not any(given.kind for given in gathered.inputs):
        told = notes + [note for given in gathered.inputs for note in given.notes]
        raise InputError(told[0] if told else Note("input.empty_folder", os.fspath(paths[0])))
    store = FactStore([*gathered.facts, *stated], gathered.events)
    notes += [Note("derivation.failed", "", {"reason": broken}) for broken in run_derivations(store)]
    diagnosis = diagnose(store, loaded.base)
    return Report(
        inputs=gathered.inputs,
        store=store,
        rulebase=loaded.base,
        diagnosis=diagnosis,
        notes=tuple(notes),
        problems=loaded.problems,
        patched=patched(diagnosis, store, loaded.base),
    )


def patched(
    diagnosis: Diagnosis, store: FactStore, rulebase: RuleBase
) -> dict[tuple[str, str], Mapping[str, Patched]]:
    """The settings that remedies change, computed from what the job's are now."""
    lookup = Situation(store, dict(rulebase.events)).lookup("job")

    def now(key: str) -> Value | None:
        fact = store.get(f"config.{key}")
        return fact.value if fact else None

    def then(wanted: Any) -> Value | None:
        value = evaluate(wanted, lookup).value if isinstance(wanted, str) else wanted
        return value if isinstance(value, str | int | float) else None

    return {
        (finding.rule.id, remedy.id): {key: Patched(now(key), then(wanted)) for key, wanted in change.items()}
        for finding in diagnosis.findings
        for remedy in finding.rule.remedies
        if (change := remedy.change.get("patch"))
    }
