"""The notes of a rule's evidence, filled in: what the lines that were found amount to, in numbers and names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from doctor.engine.model import Outcome
from doctor.facts.model import FactSpec, Value
from doctor.facts.store import FactStore
from doctor.rulebase.model import Text
from doctor.rulebase.truth import Truth

LONGEST = 400
_NAME = re.compile(r"\{(?P<name>[\w.]+)(?::(?P<form>\w+))?\}")
_UNLIMITED = 2**63


def noted(
    outcomes: tuple[Outcome, ...],
    templates: Mapping[str, Text],
    store: FactStore,
    catalogue: Mapping[str, FactSpec] = MappingProxyType({}),
) -> tuple[Outcome, ...]:
    """`outcomes` with the note of each signal that holds; a note that lacks a value is left out.

    A name is a field of the signal's first event, or a fact of the first entity that the signal found, else of the job.
    The `catalogue` has the words for values that are none.
    """
    return tuple(
        replace(outcome, note=_in_both(templates[outcome.signal], outcome, store, catalogue))
        if outcome.truth is Truth.TRUE and outcome.signal in templates
        else outcome
        for outcome in outcomes
    )


def _in_both(text: Text, outcome: Outcome, store: FactStore, catalogue: Mapping[str, FactSpec]) -> Text:
    return Text(*(_filled(text.get(lang), lang, outcome, store, catalogue) for lang in ("en", "zh")))


def _filled(template: str, lang: str, outcome: Outcome, store: FactStore, catalogue: Mapping[str, FactSpec]) -> str:
    parts: list[str] = []
    end = 0
    for match in _NAME.finditer(template):
        value = _value(match["name"], outcome, store)
        if value is None or value == ():
            return ""
        spec = catalogue.get(match["name"])
        words = spec.words.get(value, {}) if spec is not None and isinstance(value, str) else {}
        parts += [template[end : match.start()], words.get(lang) or _shown(value, match["form"] or "")]
        end = match.end()
    return "".join([*parts, template[end:]])[:LONGEST]


def _value(name: str, outcome: Outcome, store: FactStore) -> Value | None:
    field = name.rsplit(".", 1)[-1]
    if outcome.events and field in outcome.events[0].fields:
        return outcome.events[0].fields[field]
    for entity in (*outcome.entities, "job"):
        if (fact := store.get(name, entity)) is not None:
            return fact.value
    # `any(node, ...)` is about the job: the one entity that the fact is known of is meant
    told = {fact.value for fact in store.every(name)}
    return told.pop() if len(told) == 1 else None


def _shown(value: Value, form: str) -> str:
    if isinstance(value, tuple):
        return "; ".join(_shown(item, form) for item in value)
    if isinstance(value, bool | str):
        return str(value)
    if form in ("bytes", "int") and value >= _UNLIMITED:
        return "unlimited"
    if form == "bytes":
        return _bytes(float(value))
    told = f"{value:.3g}" if isinstance(value, float) and 1e-3 < abs(value) < 1000 else f"{value:g}"
    return {"seconds": f"{told} s", "percent": f"{value:.0%}", "int": f"{value:.0f}"}.get(form, told)


def _bytes(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"
