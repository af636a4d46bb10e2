"""From the data of a rule file to a Rule; every mistake is a MisplacedError with its key path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from doctor.facts.model import EventSpec, FactSpec, Scope, Symptom
from doctor.facts.units import dimension
from doctor.rulebase.document import MisplacedError, Node
from doctor.rulebase.model import (
    LIKELIHOODS,
    PRIORS,
    Cause,
    Condition,
    Differential,
    Explains,
    Reference,
    Remedy,
    Rule,
    Severity,
    Signal,
    Text,
)

RULE_KEYS = (
    *("schema", "id", "name", "cause", "title", "status", "since", "severity", "scope", "prior", "signals"),
    *("condition", "because", "evidence", "differential", "explains", "remedies", "references", "tests", "replaced_by"),
)
SIGNAL_KEYS = (*("event", "where", "when", "seen", "group", "count", "ranks", "position", "before", "after"),)
REMEDY_KEYS = ("id", "title", "change", "risk", "restart", "avoid", "why", "requires")
CHANGE_KEYS = ("env", "command", "patch", "code", "flags")
FACT_TYPES = ("int", "float", "str", "bool", "list")
FIELD_TYPES = ("int", "float", "str", "bytes", "bytes_binary", "seconds", "bool")
SCHEMA = 1


def read_rule(data: Any, path: str) -> Rule:
    """The Rule in `data`, the content of the rule file `path`."""
    node = Node(data, (), RULE_KEYS)
    if (schema := node.integer("schema", SCHEMA)) != SCHEMA:
        raise node.fail("schema", f"schema {schema} is not known; this version reads schema {SCHEMA}")
    signals = {name: _signal(node.node("signals"), name) for name in node.node("signals").data}
    if not signals:
        raise MisplacedError("signals is missing: a rule needs at least one thing that can be seen", ())
    condition = node.node("condition", ("all", "any", "none"))
    parts = {key: condition.strings(key) for key in ("all", "any", "none")}
    for key, names in parts.items():
        for name in names:
            if name not in signals:
                raise condition.fail(
                    key, f"condition names {name!r}, which is no signal; signals: {', '.join(signals)}"
                )
    return Rule(
        id=node.string("id"),
        name=node.string("name"),
        cause=node.string("cause"),
        title=node.need_text("title"),
        severity=Severity(node.choice("severity", list(Severity))),
        prior=PRIORS[node.choice("prior", PRIORS)],
        signals=signals,
        condition=Condition(**parts),
        because=node.need_text("because"),
        status=node.choice("status", ("preview", "stable", "deprecated"), "stable"),
        since=node.string("since", ""),
        scope=Scope(node.choice("scope", list(Scope), "job")),
        evidence={key: node.node("evidence").either(key) for key in node.node("evidence", signals).data},
        differential=tuple(map(_differential, node.items("differential", ("rule", "next", "how")))),
        explains=tuple(map(_explains, node.items("explains", ("event", "rule", "same")))),
        remedies=tuple(map(_remedy, node.items("remedies", REMEDY_KEYS))),
        references=tuple(
            Reference(n.string("title"), n.string("url")) for n in node.items("references", ("title", "url"))
        ),
        tests=tuple(test.data for test in node.items("tests")),
        path=path,
    )


def _signal(signals: Node, name: str) -> Signal:
    node = signals.node(name, SIGNAL_KEYS)
    if node.has("event") == node.has("when"):
        raise MisplacedError(f"signal {name} needs either an event or a when", node.keys)
    if not node.has("event") and any(
        node.has(key) for key in ("where", "count", "ranks", "position", "before", "after")
    ):
        raise MisplacedError(
            f"signal {name}: where, count, ranks, position, before and after go with an event", node.keys
        )
    seen = node.node("seen", ("if_cause", "otherwise"))
    given = node.has("seen")
    return Signal(
        name=name,
        events=node.strings("event"),
        where=node.string("where", ""),
        when=node.string("when", ""),
        count=node.integer("count", 1),
        ranks=node.integer("ranks", 1),
        position=node.choice("position", ("", "last", "first"), ""),
        before=node.string("before", ""),
        after=node.string("after", ""),
        group=node.string("group", ""),
        if_cause=LIKELIHOODS[seen.choice("if_cause", LIKELIHOODS)] if given else 0.5,
        otherwise=LIKELIHOODS[seen.choice("otherwise", LIKELIHOODS)] if given else 0.5,
    )


def _differential(node: Node) -> Differential:
    return Differential(rule=node.string("rule"), how=node.need_text("how"), next=node.string("next", ""))


def _explains(node: Node) -> Explains:
    if node.has("event") == node.has("rule"):
        raise MisplacedError("explains needs either an event or a rule", node.keys)
    same = node.data.get("same", "job")
    if same not in ("job", "node", "rank"):
        raise node.fail("same", f"same is {same!r}; allowed are job, node, rank")
    return Explains(event=node.string("event", ""), rule=node.string("rule", ""), same=same)


def _remedy(node: Node) -> Remedy:
    avoid = node.flag("avoid")
    if avoid and not node.has("why"):
        raise MisplacedError(f"remedy {node.string('id')} says what to avoid, so it needs a why", node.keys)
    if not avoid and not node.has("change"):
        raise MisplacedError(f"remedy {node.string('id')} needs a change: {', '.join(CHANGE_KEYS)}", node.keys)
    return Remedy(
        id=node.string("id"),
        title=node.need_text("title"),
        risk=node.choice("risk", ("low", "medium", "high"), "low"),
        restart=node.choice("restart", ("none", "job", "node")),
        change=dict(node.node("change", CHANGE_KEYS).data),
        avoid=avoid,
        why=node.text("why", required=False),
        requires=node.string("requires", ""),
    )


def read_events(data: Any) -> dict[str, EventSpec]:
    """The events of one file of rules/events."""
    document = Node(data or {})
    keys = ("meaning", "patterns", "fields", "symptom", "follows", "phase", "raised")
    return {name: _event(name, document.node(name, keys)) for name in document.data}


def _event(name: str, node: Node) -> EventSpec:
    patterns = node.strings("patterns")
    if not patterns:
        raise MisplacedError(f"event {name} needs patterns", node.keys)
    for index, pattern in enumerate(patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            message = f"event {name}: pattern {pattern!r} does not compile: {error.msg}"
            raise MisplacedError(message, (*node.keys, "patterns", index), (error.pos or 0) + 1) from None
    fields = node.node("fields")
    meaning = node.text("meaning")
    return EventSpec(
        name=name,
        patterns=patterns,
        fields={key: fields.choice(key, FIELD_TYPES) for key in fields.data},
        symptom=Symptom(node.choice("symptom", list(Symptom), "none")),
        follows=node.flag("follows"),
        phase=node.string("phase", ""),
        raised=node.flag("raised"),
        meaning={"en": meaning.en, "zh": meaning.zh} if meaning else {},
    )


def read_catalogue(data: Any) -> dict[str, FactSpec]:
    """The facts of one file of the catalogue."""
    document = Node(data or {})
    keys = ("type", "unit", "scope", "meaning", "providers", "words")
    return {name: _fact(name, document.node(name, keys)) for name in document.data}


def _fact(name: str, node: Node) -> FactSpec:
    unit = node.string("unit", "1")
    try:
        dimension(unit)
    except ValueError as error:
        raise node.fail("unit", f"{name}: {error}") from None
    return FactSpec(
        name=name,
        type=node.choice("type", FACT_TYPES),
        unit=unit,
        scope=Scope(node.choice("scope", list(Scope), "job")),
        meaning=node.string("meaning"),
        providers=node.strings("providers"),
        words={value: {"en": text.en, "zh": text.zh} for value, text in _words(node.node("words"))},
    )


def _words(node: Node) -> Iterator[tuple[str, Text]]:
    for value in node.data:
        yield value, node.need_text(value)


def read_causes(data: Any) -> dict[str, Cause]:
    """The published list of causes."""
    document = Node(data or {})
    return {
        name: Cause(name, node.string("area"), node.need_text("title"))
        for name in document.data
        for node in [document.node(name, ("area", "title"))]
    }
