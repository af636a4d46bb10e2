"""A session kept in a file, to go on with later: where it was read from, what was answered and chosen.

What was read is read again: the file holds no log lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctor.facts.model import Fact, FactSpec, Quality, Source
from doctor.rulebase.model import Question
from doctor.session.answers import Answers, add_answers, typed
from doctor.session.inputs import InputError
from doctor.session.notes import Note

KIND, VERSION = "pdoctor session", 1
LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Saved:
    """`paths` are as they were given, absolute; `node` says that the node itself was looked at; `step` is where the
    person was, `chosen` the remedies they took, None while they left the choice, `settings` those by hand as words."""

    paths: tuple[str, ...] = ()
    node: bool = False
    answers: Answers = field(default_factory=Answers)
    chosen: tuple[str, ...] | None = None
    step: str = "collect"
    settings: str = ""


def to_text(saved: Saved) -> str:
    """The session as JSON."""
    stated = [{"name": f.name, "entity": f.entity, "value": f.value} for f in saved.answers.stated]
    data = {
        "kind": KIND, "version": VERSION, "paths": saved.paths, "node": saved.node, "step": saved.step,
        "chosen": saved.chosen, "settings": saved.settings, "answers": dict(saved.answers.keys), "stated": stated,
    }  # fmt: skip
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def is_saved(path: Path) -> bool:
    """Is the file a session? Anything else is for others to read."""
    try:
        return path.is_file() and path.stat().st_size <= LARGEST and KIND in path.read_text(encoding="utf-8")[:200]
    except (OSError, UnicodeDecodeError):
        return False


def read_saved(path: Path, questions: Mapping[str, Question], catalogue: Mapping[str, FactSpec]) -> Saved:
    """The session in a file; raises InputError. Answers to questions that are no longer asked are left out."""
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        if data["kind"] != KIND or data["version"] != VERSION:
            raise ValueError(f"version {data['version']!r}; this pdoctor reads version {VERSION}")
        words = [f"{name}={key}" for name, key in dict(data["answers"]).items() if name in questions]
        stated = tuple(_stated(str(path), told, questions, catalogue) for told in data["stated"])
        chosen = data["chosen"]
        return Saved(
            tuple(map(str, data["paths"])), bool(data["node"]),
            add_answers(Answers(stated), words, questions),
            None if chosen is None else tuple(map(str, chosen)), str(data["step"]), str(data.get("settings", "")),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise InputError(Note("session.unreadable", str(path), {"reason": str(reason)})) from None


def _stated(path: str, told: Any, questions: Mapping[str, Question], catalogue: Mapping[str, FactSpec]) -> Fact:
    name = str(told["name"])
    value = typed(path, name, told["value"], catalogue, questions)
    return Fact(name, value, str(told["entity"]), Source("answer", path), None, Quality.ANSWERED)
