"""One side of a comparison: facts and findings, from files or from a report that pdoctor wrote as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore
from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.report import Report

LARGEST, HEAD = 256 << 20, 4096


@dataclass(frozen=True, slots=True)
class Found:
    """A finding; texts in the language of the report."""

    rule: str
    cause: str
    title: str
    severity: str
    root: bool
    where: str


@dataclass(frozen=True, slots=True)
class Side:
    """What is known of one side. `kinds` are the kinds of its files; `bare` says that a report held no facts."""

    name: str
    store: FactStore
    findings: tuple[Found, ...]
    kinds: frozenset[str]
    bare: bool = False


def side_of_report(report: Report, name: str, lang: str) -> Side:
    """The side that files gave."""
    findings = tuple(
        Found(
            finding.rule.id,
            finding.rule.cause,
            finding.rule.title.get(lang),
            str(finding.severity),
            str(finding.role) == "root",
            _place(finding.sources),
        )
        for finding in report.diagnosis.findings
        if str(finding.role) in ("root", "contributing")
    )
    return Side(name, report.store, findings, frozenset(given.kind for given in report.inputs if given.kind))


def is_report(path: str) -> bool:
    """Does `path` begin like a report of pdoctor in JSON?"""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return head.lstrip().startswith(b"{") and b'"schema"' in head and b'"pdoctor"' in head


def side_of_json(path: str) -> Side:
    """The side that a report holds; raises InputError where it is damaged. Facts of wrong types are passed over."""
    try:
        if os.path.getsize(path) > LARGEST:
            raise ValueError(f"more than {LARGEST >> 20} MiB")
        data = json.loads(Path(path).read_bytes())
        if not isinstance(data, dict):
            raise ValueError("not a report of pdoctor")
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(Note("input.unreadable", path, {"reason": reason})) from None
    facts = list(_facts(data.get("facts"), path))
    kinds = frozenset(str(given.get("kind")) for given in _dicts(data.get("inputs")) if given.get("kind"))
    return Side(path, FactStore(facts), tuple(_findings(data.get("findings"))), kinds, not facts)


def _facts(known: Any, path: str) -> Iterator[Fact]:
    if not isinstance(known, dict):
        return
    for name, entries in known.items():
        for entry in _dicts(entries):
            value, quality = _value(entry.get("value")), str(entry.get("quality"))
            if value is None or quality not in set(Quality) or quality == Quality.FAILED:
                continue
            given = entry.get("source")
            source = _source(given if isinstance(given, dict) else {}, path)
            yield Fact(str(name), value, str(entry.get("entity", "job")), source, None, Quality(quality))


def _source(given: Mapping[str, Any], path: str) -> Source:
    line = given.get("line")
    place = str(given.get("path") or "")
    return Source(str(given.get("kind", "")), place or path, line if isinstance(line, int) and place else 0)


def _value(value: Any) -> Value | None:
    if isinstance(value, list):
        return tuple(value) if all(isinstance(one, str | int | float | bool) for one in value) else None
    return value if isinstance(value, str | int | float | bool) else None


def _findings(given: Any) -> Iterator[Found]:
    for one in _dicts(given):
        if one.get("role") not in ("root", "contributing"):
            continue
        rule, cause, title, severity = (str(one.get(key, "")) for key in ("rule", "cause", "title", "severity"))
        evidence = next(iter(_dicts(one.get("evidence"))), {})
        line = evidence.get("line")
        place = str(evidence.get("path") or "") + (f":{line}" if isinstance(line, int) and line else "")
        yield Found(rule, cause, title, severity, one.get("role") == "root", place)


def _dicts(given: Any) -> list[dict[str, Any]]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _place(sources: tuple[Source, ...]) -> str:
    return next((f"{s.path}:{s.line}" if s.line else s.path for s in sources if s.path), "")
