"""What a rule is, once read and checked. Rules hold data only; the engine reasons with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import log
from typing import Any

from doctor.facts.model import EventSpec, FactSpec, Scope
from doctor.rulebase.truth import Truth

PRIORS: Mapping[str, float] = {"rare": 0.005, "uncommon": 0.03, "common": 0.10, "frequent": 0.25}
"""How often a cause is met among jobs in trouble; calibrated on scored cases."""

LIKELIHOODS: Mapping[str, float] = {
    "always": 0.99,
    "usually": 0.9,
    "often": 0.7,
    "sometimes": 0.4,
    "rarely": 0.1,
    "never": 0.01,
}

EXCERPT = 0.3
"""Share of present messages that are missing from what people hand over: logs are cut, or of some ranks only."""


class Severity(StrEnum):
    """`fatal` and `degraded` say that something is wrong; `risk` and `info` never alarm by themselves."""

    FATAL = "fatal"
    DEGRADED = "degraded"
    RISK = "risk"
    INFO = "info"

    @property
    def order(self) -> int:
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Text:
    """A text in English and Chinese."""

    en: str
    zh: str = ""

    def get(self, lang: str) -> str:
        return self.zh if lang == "zh" and self.zh else self.en


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that can be seen: an event in a log, or a condition over facts.

    `if_cause` and `otherwise` are the probabilities of seeing it with and without the cause.
    """

    name: str
    events: tuple[str, ...] = ()
    where: str = ""
    when: str = ""
    count: int = 1
    ranks: int = 1
    position: str = ""
    before: str = ""
    after: str = ""
    if_cause: float = 0.5
    otherwise: float = 0.5
    group: str = ""

    @property
    def weight_present(self) -> float:
        """Log-odds, in nats, that seeing the signal adds to the belief in the cause."""
        return log(self.if_cause / self.otherwise)

    @property
    def weight_absent(self) -> float:
        """Log-odds that its absence adds; a line may be missing merely because the log was cut."""
        shown = 1 - EXCERPT if self.events else 1.0
        return log((1 - shown * self.if_cause) / (1 - shown * self.otherwise))

    def weight(self, truth: Truth) -> float:
        """What the signal adds when it is there, when it is not, and (nothing) when that is not known."""
        if truth is Truth.UNKNOWN:
            return 0.0
        return self.weight_present if truth is Truth.TRUE else self.weight_absent


@dataclass(frozen=True, slots=True)
class Condition:
    """Which signals must hold: all of `all`, one of `any` (if given), none of `none`."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explains:
    """What follows from the cause and folds under it: an event, or the findings of another rule.

    `same` is job, node or rank: where it must have been. A finding is on the same rank also where only the node of the
    cause is known.
    """

    event: str = ""
    rule: str = ""
    same: str = "job"


@dataclass(frozen=True, slots=True)
class Differential:
    """Another rule that looks alike, and the step that tells the two apart."""

    rule: str
    how: Text
    next: str = ""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that cures the cause, or (`avoid`) the usual wrong answer with the reason against it."""

    id: str
    title: Text
    risk: str
    restart: str
    change: Mapping[str, Any] = field(default_factory=dict)
    avoid: bool = False
    why: Text | None = None
    requires: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One documented cause: what shows it, what it explains, what cures it."""

    id: str
    name: str
    cause: str
    title: Text
    severity: Severity
    prior: float
    signals: Mapping[str, Signal]
    condition: Condition
    because: Text
    status: str = "stable"
    since: str = ""
    scope: Scope = Scope.JOB
    evidence: Mapping[str, Text] = field(default_factory=dict)
    differential: tuple[Differential, ...] = ()
    explains: tuple[Explains, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    references: tuple[Reference, ...] = ()
    tests: tuple[Mapping[str, Any], ...] = ()
    path: str = ""

    @property
    def area(self) -> str:
        """The folder the rule lives in, such as `oom`."""
        return self.path.rsplit("/", 2)[-2] if "/" in self.path else ""


@dataclass(frozen=True, slots=True)
class Cause:
    """One line of the published list of causes."""

    id: str
    area: str
    title: Text


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the answers to choose from: what it says, the facts it gives, and how often it is given (relative)."""

    key: str
    text: Text
    gives: Mapping[str, bool | int | float | str]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """What only a person knows. `why` says what the answer separates.

    `cost` is the person's effort in seconds, reading included; `asks_when` an expression: where it is false the
    question makes no sense and is not asked.
    """

    id: str
    text: Text
    why: Text
    answers: tuple[Answer, ...]
    cost: float
    asks_when: str = ""

    @property
    def gives(self) -> frozenset[str]:
        """The facts that some answer gives."""
        return frozenset(name for answer in self.answers for name in answer.gives)


@dataclass(frozen=True, slots=True)
class RuleBase:
    """Everything the engine reasons with: rules, messages that can be read, names that can be known."""

    rules: Mapping[str, Rule]
    events: Mapping[str, EventSpec]
    catalogue: Mapping[str, FactSpec]
    causes: Mapping[str, Cause] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
