"""Answers: facts that only a person knows, from a YAML file.

Such as `{config.tp: 8, "node:n1 node.shm_total": 67108864}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from doctor.facts.model import Fact, FactSpec, Quality, Source, Value, fact_spec
from doctor.rulebase.document import load_yaml
from doctor.rulebase.errors import RuleError, suggestion
from doctor.session.inputs import InputError
from doctor.session.notes import Note

TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "list": (list,),
}


def read_answers(path: str, catalogue: Mapping[str, FactSpec]) -> Iterator[Fact]:
    """The facts stated in the file; raises InputError that names the file, the fact, and what would be right."""
    try:
        data: Any = load_yaml(Path(path), path) or {}
    except RuleError as error:
        raise InputError(Note("answers.unreadable", "", {"reason": str(error)})) from None
    if not isinstance(data, dict):
        raise InputError(Note("answers.unreadable", "", {"reason": f"{path}: not a mapping of facts to values"}))
    for key, value in data.items():
        entity, _, name = str(key).rpartition(" ")
        yield Fact(
            name, _value(path, name, value, catalogue), entity or "job", Source("answer", path), None, Quality.ANSWERED
        )


def _value(path: str, name: str, value: Any, catalogue: Mapping[str, FactSpec]) -> Value:
    spec = fact_spec(catalogue, name)
    if spec is None:
        hint = suggestion(name, catalogue)
        raise InputError(Note("answers.unknown", path, {"name": name, "hint": hint}))
    fits: bool = isinstance(value, TYPES[spec.type]) and (spec.type == "bool") == (type(value) is bool)
    if not fits:
        unit = f" {spec.unit}" if spec.unit != "1" else ""
        raise InputError(Note("answers.type", path, {"name": name, "value": repr(value), "type": spec.type + unit}))
    typed: Value = tuple(value) if isinstance(value, list) else value
    return float(typed) if isinstance(typed, int) and spec.type == "float" else typed
