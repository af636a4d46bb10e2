"""Answers: what only a person knows, from a YAML file or word by word.

A file holds facts, such as `config.tp: 8` or `"node:n1 node.shm_total": 67108864`, and answers to questions by the
key of the answer, such as `did_it_ever_work: driver`; `dont_know` says that the question need not be put again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from doctor.facts.model import Fact, FactSpec, Quality, Source, Value, fact_spec
from doctor.rulebase.document import load_yaml
from doctor.rulebase.errors import RuleError, suggestion
from doctor.rulebase.model import Question
from doctor.rulebase.questions import DONT_KNOW
from doctor.session.inputs import InputError
from doctor.session.notes import Note

TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "list": (list,),
}
NO_QUESTIONS: Mapping[str, Question] = MappingProxyType({})
LARGEST = 1e300
MOST_SHOWN = 60
"""Characters of a wrong value that are shown."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a person said: facts as they stand, and by question the key of the answer (or `dont_know`)."""

    stated: tuple[Fact, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    given: tuple[Fact, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Everything that follows from what was said."""
        return self.given + self.stated

    @property
    def asked(self) -> frozenset[str]:
        """The questions that need not be put again."""
        return frozenset(self.keys)

    def with_answer(self, question: Question, key: str, path: str = "") -> Answers:
        """The same and the answer `key` to `question`, in place of an earlier one."""
        source = Source("answer", path, 0, f"{question.id}: {key}")
        chosen = next((answer.gives for answer in question.answers if answer.key == key), {})
        kept = tuple(fact for fact in self.given if fact.name not in question.gives)
        new = tuple(Fact(name, value, "job", source, None, Quality.ANSWERED) for name, value in chosen.items())
        return Answers(self.stated, {**self.keys, question.id: key}, kept + new)


def read_answers(
    path: str, catalogue: Mapping[str, FactSpec], questions: Mapping[str, Question] = NO_QUESTIONS
) -> Answers:
    """What the file says; raises InputError that names the file, the fact or question, and what would be right."""
    try:
        data: Any = load_yaml(Path(path), path) or {}
    except RuleError as error:
        raise InputError(Note("answers.unreadable", "", {"reason": str(error)})) from None
    if not isinstance(data, dict):
        raise InputError(Note("answers.unreadable", "", {"reason": f"{path}: not a mapping of facts to values"}))
    facts: list[Fact] = []
    answers = Answers()
    for key, value in data.items():
        question = questions.get(key) if isinstance(key, str) else None
        if question is not None:
            answers = answers.with_answer(question, _key(path, question, value), path)
            continue
        entity, _, name = str(key).rpartition(" ")
        known = typed(path, name, value, catalogue, questions)
        facts.append(Fact(name, known, entity or "job", Source("answer", path), None, Quality.ANSWERED))
    return Answers(tuple(facts), answers.keys, answers.given)


def add_answers(answers: Answers, words: Iterable[str], questions: Mapping[str, Question]) -> Answers:
    """`answers` and those in `words`, each `question=key`; raises InputError as above."""
    for word in words:
        name, sign, key = word.partition("=")
        question = questions.get(name.strip())
        if question is None:
            hint = suggestion(name, questions)
            raise InputError(Note("answers.question", "--answer", {"name": name[:MOST_SHOWN], "hint": hint}))
        chosen = _key("--answer", question, key.strip() if sign else "")
        answers = answers.with_answer(question, chosen, "--answer")
    return answers


def save_answers(path: str, answers: Answers) -> None:
    """Writes `answers` as YAML that `read_answers` reads; raises OSError."""
    from ruamel.yaml import YAML

    lines: dict[str, Any] = {}
    for fact in answers.stated:
        name = fact.name if fact.entity == "job" else f"{fact.entity} {fact.name}"
        lines[name] = list(fact.value) if isinstance(fact.value, tuple) else fact.value
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    with Path(path).open("w", encoding="utf-8") as file:
        yaml.dump({**lines, **answers.keys}, file)


def _key(path: str, question: Question, value: Any) -> str:
    """The key of the answer that `value` names; true and false stand for yes and no."""
    key = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    keys = [*(answer.key for answer in question.answers), DONT_KNOW]
    if key not in keys:
        shown = repr(value)[:MOST_SHOWN]
        values = {"name": question.id, "value": shown, "hint": suggestion(key[:MOST_SHOWN], keys)}
        raise InputError(Note("answers.key", path, {**values, "keys": ", ".join(keys)}))
    return key


def typed(
    path: str, name: str, value: Any, catalogue: Mapping[str, FactSpec], questions: Mapping[str, Question]
) -> Value:
    """The value of the fact `name` that the file at `path` states; raises InputError where it can be none."""
    spec = fact_spec(catalogue, name)
    if spec is None:
        hint = suggestion(name, [*catalogue, *questions])
        raise InputError(Note("answers.unknown", path, {"name": name, "hint": hint}))
    fits: bool = isinstance(value, TYPES[spec.type]) and (spec.type == "bool") == (type(value) is bool)
    parts = value if isinstance(value, list) else [value]
    if not fits or not all(_is_plain(part) for part in parts):
        unit = f" {spec.unit}" if spec.unit != "1" else ""
        raise InputError(
            Note("answers.type", path, {"name": name, "value": repr(value)[:MOST_SHOWN], "type": spec.type + unit})
        )
    known: Value = tuple(value) if isinstance(value, list) else value
    return float(known) if isinstance(known, int) and spec.type == "float" else known


def _is_plain(value: Any) -> bool:
    """Can it be a fact's value, or a part of one? Numbers have an end, and stay within what can be computed with."""
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) < LARGEST)
