"""What a rule base must live up to beyond being readable; every fault names its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from doctor.facts.derive import derivations
from doctor.rulebase.errors import RuleError
from doctor.rulebase.expression import fact_names
from doctor.rulebase.load import Loaded
from doctor.rulebase.model import Rule, RuleBase
from doctor.rulebase.names import Known, event_fields
from doctor.rulebase.patterns import faults

_TEMPLATE = re.compile(r"\{([\w.]+)(?::(\w+))?\}")
_WORDS = re.compile(r"[^\W\d_]{2}")
TOLD, ANSWERS = "told.", "answer"
"""How facts that only a person knows begin, and the group of the signals that use them."""

FORMATS = ("", "bytes", "seconds", "int", "percent")


def lint(loaded: Loaded) -> list[RuleError]:
    """Every fault of the rule base: files left out, and what the checks below find."""
    found = list(loaded.problems)
    for rule in loaded.base.rules.values():
        for check in RULE_CHECKS:
            found += [RuleError(f"{rule.id}: {message}", rule.path) for message in check(rule, loaded.base)]
    found += [RuleError(message) for message in _events(loaded.base)]
    found += [RuleError(message) for message in _circles(loaded.base)]
    found += [RuleError(message) for message in _questions(loaded.base)]
    return found


def _tests(rule: Rule, base: RuleBase) -> Iterator[str]:
    if rule.status != "stable":
        return
    expected = [dict(test.get("expect") or {}) for test in rule.tests]
    if not any(e.get("finding") == rule.id for e in expected):
        yield "a stable rule needs a test that expects it"
    if not any(e.get("finding") == "none" or (e and e.get("finding") != rule.id) for e in expected):
        yield "a stable rule needs a near miss: a test that expects `none` or another rule"


def _texts(rule: Rule, base: RuleBase) -> Iterator[str]:
    texts = {"title": rule.title, "because": rule.because}
    texts |= {f"remedy {remedy.id}": remedy.title for remedy in rule.remedies}
    texts |= {f"why of remedy {remedy.id}": remedy.why for remedy in rule.remedies if remedy.why}
    texts |= {f"differential {other.rule}": other.how for other in rule.differential}
    for name, text in texts.items():
        if not text.zh:
            yield f"{name} has no zh text"


def _sources(rule: Rule, base: RuleBase) -> Iterator[str]:
    if not rule.references:
        yield "no reference: say where the cause is documented"
    for reference in rule.references:
        if not reference.url.startswith(("https://", "http://")):
            yield f"reference {reference.url!r} is no URL"


def _remedies(rule: Rule, base: RuleBase) -> Iterator[str]:
    if not any(not remedy.avoid for remedy in rule.remedies):
        yield "no remedy: say what cures the cause"
    if len({remedy.id for remedy in rule.remedies}) != len(rule.remedies):
        yield "two remedies have the same id"


def _evidence(rule: Rule, base: RuleBase) -> Iterator[str]:
    known = Known(base.catalogue, base.events, base.causes, base.rules)
    for signal, text in rule.evidence.items():
        if not text.zh and _WORDS.search(_TEMPLATE.sub("", text.en)):
            yield f"evidence {signal} has words and no zh text"
        events = [base.events[name] for name in rule.signals[signal].events if name in base.events]
        fields = event_fields(events)
        for name, form in _TEMPLATE.findall(text.en + text.zh):
            field = name.rsplit(".", 1)[-1]
            if known.names().kind(name) is None and field not in fields and field not in ("rank", "host", "step"):
                yield f"evidence {signal} names {name!r}, which is neither a fact nor a field of its event"
            if form not in FORMATS:
                yield f"evidence {signal}: format {form!r} is not one of {', '.join(FORMATS[1:])}"


def _told(rule: Rule, base: RuleBase) -> Iterator[str]:
    for signal in rule.signals.values():
        told = [name for name in fact_names(signal.when) if name.startswith(TOLD)] if signal.when else []
        if told and signal.group != ANSWERS and signal.name not in rule.condition.none:
            yield (
                f"signal {signal.name} uses {told[0]}, so its group must be {ANSWERS}: what people say is counted once "
                "and does not drown what was seen"
            )


RULE_CHECKS: tuple[Callable[[Rule, RuleBase], Iterator[str]], ...] = (
    _tests,
    _texts,
    _sources,
    _remedies,
    _evidence,
    _told,
)


def _events(base: RuleBase) -> Iterator[str]:
    for spec in base.events.values():
        for pattern in spec.patterns:
            for fault in faults(pattern):
                yield f"event {spec.name}: pattern {pattern!r} {fault}"


def _questions(base: RuleBase) -> Iterator[str]:
    used = {n for rule in base.rules.values() for s in rule.signals.values() if s.when for n in fact_names(s.when)}
    used |= {name for derivation in derivations() for name in derivation.NEEDS}
    given: set[str] = set()
    for question in base.questions.values():
        given |= question.gives
        for name in sorted(question.gives - used):
            yield f"question {question.id} gives {name}, which no signal and no derivation uses"
        texts = {"text": question.text, "why": question.why}
        texts |= {f"answer {answer.key}": answer.text for answer in question.answers}
        for name, text in texts.items():
            if not text.zh:
                yield f"question {question.id}: {name} has no zh text"
    for name, spec in base.catalogue.items():
        if "question" in spec.providers and name not in given:
            yield f"fact {name} is to come from a question, and no question gives it"


def _circles(base: RuleBase) -> Iterator[str]:
    edges = {rule.id: [e.rule for e in rule.explains if e.rule] for rule in base.rules.values()}
    for start in edges:
        if start in _reachable(start, edges):
            yield f"{start}: explains leads back to itself"


def _reachable(start: str, edges: Mapping[str, list[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(edges.get(start, ()))
    while todo:
        rule = todo.pop()
        if rule not in found:
            found.add(rule)
            todo += edges.get(rule, ())
    return found
