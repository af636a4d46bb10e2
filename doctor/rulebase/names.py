"""Holds a rule against what exists: facts, events, causes, other rules. Every mistake names its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from doctor.facts.model import EventSpec, FactSpec
from doctor.rulebase.document import Keys, MisplacedError
from doctor.rulebase.errors import RuleError, suggestion
from doctor.rulebase.expression import Names, check
from doctor.rulebase.model import Cause, Rule, Signal, Text

BUILTIN_EVENTS: Mapping[str, Mapping[str, str]] = {
    "python.traceback": {
        "exception": "str",
        "message": "str",
        "frames": "str",
        "last_frame": "str",
        "own_frame": "str",
        "cause_exception": "str",
        "cause_message": "str",
    },
    "log.last_line": {},
}
"""Events the log probe makes by itself, with their fields."""

BUILTIN_MEANINGS: Mapping[str, Text] = {
    "python.traceback": Text("a Python exception with its traceback", "Python 异常及其调用栈"),
    "log.last_line": Text("the last line of a log", "日志的最后一行"),
}

_CAPTURE = re.compile(r"\(\?P<(\w+)>")


def event_fields(specs: Iterable[EventSpec]) -> dict[str, str]:
    """The fields of events with their types; a capture that is not declared is a str."""
    fields: dict[str, str] = {}
    for spec in specs:
        for pattern in spec.patterns:
            for name in _CAPTURE.findall(pattern):
                fields.setdefault(name, "str")
        fields.update(spec.fields)
    return fields


def meaning_of(event: str, specs: Mapping[str, EventSpec], lang: str) -> str:
    """What the message tells; empty for an event that does not exist."""
    if event in BUILTIN_MEANINGS:
        return BUILTIN_MEANINGS[event].get(lang)
    meaning = specs[event].meaning if event in specs else {}
    return meaning.get(lang) or meaning.get("en", "")


class Known:
    """Everything a rule may name."""

    def __init__(
        self,
        catalogue: Mapping[str, FactSpec],
        events: Mapping[str, EventSpec],
        causes: Mapping[str, Cause],
        rules: Iterable[str],
    ) -> None:
        self.catalogue, self.events, self.causes, self.rules = catalogue, events, causes, list(rules)
        self.all_events = {**BUILTIN_EVENTS, **events}

    def names(self, signal: Signal | None = None) -> Names:
        """What an expression of a rule may name; with `signal`, also the fields of its events."""
        fields: dict[str, str] | None = None
        if signal is not None:
            fields = event_fields(self.events[name] for name in signal.events if name in self.events)
            for name in signal.events:
                fields.update(BUILTIN_EVENTS.get(name, {}))
        return Names(self.catalogue, self.all_events, fields)


def check_rule(rule: Rule, known: Known) -> list[MisplacedError]:
    """Every name in `rule` that does not exist, and every expression that does not type-check."""
    wrong: list[MisplacedError] = []

    def expect(name: str, among: Iterable[str], what: str, keys: Keys) -> None:
        if name and name not in (options := list(among)):
            wrong.append(MisplacedError(f"unknown {what} {name}{suggestion(name, options)}", keys))

    def attempt(action: Callable[[], object], keys: Keys) -> None:
        try:
            action()
        except RuleError as error:
            wrong.append(MisplacedError(error.message, keys, error.column))

    if known.causes:
        expect(rule.cause, known.causes, "cause", ("cause",))
    for signal in rule.signals.values():
        at: Keys = ("signals", signal.name)
        for event in (*signal.events, signal.before, signal.after):
            expect(event, known.all_events, "event", (*at, "event"))
        if signal.where:
            attempt(lambda s=signal: _boolean(s.where, known.names(s)), (*at, "where"))  # type: ignore[misc]
        if signal.when:
            attempt(lambda s=signal: _boolean(s.when, known.names()), (*at, "when"))  # type: ignore[misc]
    for index, remedy in enumerate(rule.remedies):
        if remedy.requires:
            keys: Keys = ("remedies", index, "requires")
            attempt(lambda r=remedy: _boolean(r.requires, known.names()), keys)  # type: ignore[misc]
        for field, expression in dict(remedy.change.get("patch") or {}).items():
            if isinstance(expression, str):
                keys = ("remedies", index, "change", "patch", field)
                attempt(lambda e=expression: check(e, known.names()), keys)  # type: ignore[misc]
    return wrong


def check_references(rule: Rule, known: Known) -> list[MisplacedError]:
    """Other rules and events that `rule` refers to and that do not exist; the rule works without them."""
    named: list[tuple[str, Iterable[str], str, Keys]] = []
    for index, other in enumerate(rule.differential):
        named.append((other.rule, known.rules, "rule", ("differential", index, "rule")))
    for index, consequence in enumerate(rule.explains):
        named.append((consequence.rule, known.rules, "rule", ("explains", index, "rule")))
        named.append((consequence.event, known.all_events, "event", ("explains", index, "event")))
    return [
        MisplacedError(f"unknown {what} {name}{suggestion(name, among)}", keys)
        for name, among, what, keys in named
        if name and name not in among
    ]


def _boolean(text: str, names: Names) -> None:
    kind = check(text, names)
    if kind.type != "bool":
        raise RuleError(f"{text!r} is a {kind.type}, a condition is needed")
