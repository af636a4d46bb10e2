"""Questions to a person: rules/questions/*.yaml, one mapping of ids a file.

    did_it_ever_work:
      text: {en: ..., zh: ...}
      why: {en: what the answer separates, zh: ...}
      cost: 10                       # seconds of the person's effort, reading included
      asks_when: seen('x.y')         # optional: not asked where this is false
      answers:
        never: {text: {en: ..., zh: ...}, gives: {told.worked_before: false}, share: 2}

An answer gives facts of the catalogue, of the whole job; `share` says how often it is given relative to the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.facts.model import fact_spec
from doctor.rulebase.document import Keys, MisplacedError, Node
from doctor.rulebase.errors import RuleError, suggestion
from doctor.rulebase.expression import check
from doctor.rulebase.model import Answer, Question
from doctor.rulebase.names import Known

DONT_KNOW = "dont_know"
"""The key of the answer that every question has and that gives nothing."""

KEYS = ("text", "why", "cost", "asks_when", "answers")
TYPES: Mapping[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}
_KEY = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")


def read_questions(data: Any) -> list[Question]:
    """The questions of one file; every mistake is a MisplacedError with its key path."""
    document = Node(data or {})
    return [_question(str(name), document.node(name, KEYS)) for name in document.data]


def _question(name: str, node: Node) -> Question:
    _identifier(name, "a question", node.keys)
    answers = node.node("answers")
    found = tuple(_answer(str(key), answers.node(key, ("text", "gives", "share"))) for key in answers.data)
    if len(found) < 2:
        raise MisplacedError(f"question {name} needs two answers at least", node.keys)
    return Question(
        id=name,
        text=node.need_text("text"),
        why=node.need_text("why"),
        answers=found,
        cost=_positive(node, "cost"),
        asks_when=node.string("asks_when", ""),
    )


def _answer(key: str, node: Node) -> Answer:
    _identifier(key, "an answer", node.keys)
    if key == DONT_KNOW:
        raise MisplacedError(f"{DONT_KNOW} is offered with every question and gives nothing: leave it out", node.keys)
    gives = node.node("gives").data
    if not gives:
        raise MisplacedError(f"answer {key} gives no fact", node.keys)
    return Answer(key, node.need_text("text"), dict(gives), _positive(node, "share", 1.0))


def _identifier(name: str, what: str, keys: Keys) -> None:
    if not _KEY.fullmatch(name):
        raise MisplacedError(f"{name!r} names {what}: small letters and digits joined by _ are needed", keys)


def _positive(node: Node, key: str, default: float | None = None) -> float:
    value = node.data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise MisplacedError(f"{key} must be a number above 0, it is {value!r}", (*node.keys, key))
    return float(value)


def check_question(question: Question, known: Known) -> list[MisplacedError]:
    """Facts that do not exist or have another type, and an `asks_when` that is no condition."""
    wrong: list[MisplacedError] = []
    for answer in question.answers:
        for name, value in answer.gives.items():
            keys: Keys = (question.id, "answers", answer.key, "gives", name)
            spec = fact_spec(known.catalogue, name)
            if spec is None:
                wrong.append(MisplacedError(f"unknown fact {name}{suggestion(name, known.catalogue)}", keys))
            elif isinstance(value, bool) != (spec.type == "bool") or not isinstance(value, TYPES.get(spec.type, ())):
                wrong.append(MisplacedError(f"{name} = {value!r}: should be {spec.type}", keys))
    if question.asks_when:
        try:
            kind = check(question.asks_when, known.names())
            if kind.type != "bool":
                raise RuleError(f"{question.asks_when!r} is a {kind.type}, a condition is needed")
        except RuleError as error:
            wrong.append(MisplacedError(error.message, (question.id, "asks_when"), error.column))
    return wrong
