"""What a belief is, once read and checked: a statement, a verdict, the mechanism, numbers that prove it, sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from doctor.rulebase.errors import RuleError
from doctor.rulebase.model import Text

VERDICTS: Mapping[str, Text] = {
    "wrong": Text("wrong", "错误"),
    "rule of thumb": Text("right as a rule of thumb", "作为经验法则成立"),
    "right": Text("right", "正确"),
    "depends": Text("depends", "视情况而定"),
}
BASES: Mapping[str, Text] = {
    "read": Text("read", "已查阅原文"),
    "second-hand": Text("known from texts that cite it", "据转引"),
    "textbook": Text("textbook knowledge, this source not read for it", "教科书知识，未就此查阅该来源"),
}
"""How far a source was read for the statement that it stands behind."""
UNITS: Mapping[str, float] = {
    "1": 1.0,
    "x": 1.0,
    "%": 1e-2,
    "GPUs": 1.0,
    "bytes/parameter": 1.0,
    "s": 1.0,
    "ms": 1e-3,
    "MB": 1e6,
    "GB": 1e9,
    "GiB": 1024.0**3,
}
"""Units in which a formula's value is stated, in base units (bytes, seconds, plain numbers)."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A letter of a formula; `unit` is 1 for a plain number."""

    name: str
    unit: str
    meaning: Text


@dataclass(frozen=True, slots=True)
class Example:
    """Numbers put into a formula, and what it gives in the formula's unit, as far as digits are stated."""

    inputs: Mapping[str, float]
    gives: float


@dataclass(frozen=True, slots=True)
class Formula:
    what: Text
    expression: str
    unit: str
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class BeliefSource:
    """Where the truth is documented; `basis` is a key of BASES."""

    title: str
    url: str
    basis: str


@dataclass(frozen=True, slots=True)
class Belief:
    """A statement that is often heard, a verdict of VERDICTS, and the mechanism. `claims`: numbers in the list checked.

    A claim is W and a number for one found wrong, R and a number for one found right.
    """

    id: str
    area: str
    belief: Text
    verdict: str
    truth: Text
    formulas: tuple[Formula, ...]
    sources: tuple[BeliefSource, ...]
    rules: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Beliefs:
    """All beliefs that could be read, the symbols of their formulas, and what was wrong with the rest."""

    all: Mapping[str, Belief]
    symbols: Mapping[str, Symbol]
    problems: tuple[RuleError, ...] = ()
