"""What a diagnosis consists of. Views read it; only the engine makes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from doctor.facts.model import Event, Source
from doctor.rulebase.model import Rule, Severity, Text
from doctor.rulebase.truth import Truth

NO_NOTE = Text("")


class Label(StrEnum):
    """A belief in words."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def order(self) -> int:
        return list(Label).index(self)


class Role(StrEnum):
    """A root explains symptoms; a consequence follows from a root; what contributes is worth knowing, no more."""

    ROOT = "root"
    CONSEQUENCE = "consequence"
    CONTRIBUTING = "contributing"


class Verdict(StrEnum):
    HEALTHY = "healthy"
    PROBLEM = "problem"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one signal of a rule came out.

    `weight` is what it added to the log-odds; `sources` are the lines that show it; `missing` the facts it would
    need when unknown; `text` says what was looked for; `events` are the occurrences that matched.
    """

    signal: str
    truth: Truth
    weight: float
    text: str
    sources: tuple[Source, ...] = ()
    missing: tuple[str, ...] = ()
    note: Text = NO_NOTE
    events: tuple[Event, ...] = ()
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Follow:
    """Messages that follow from a cause: what, on how many ranks, and how long after it (seconds, if known)."""

    event: str
    count: int
    ranks: tuple[int, ...]
    first: Source
    lag: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that holds for this job, with its proof."""

    rule: Rule
    belief: float
    label: Label
    role: Role
    condition: Truth
    outcomes: tuple[Outcome, ...]
    entities: tuple[str, ...] = ()
    follows: tuple[Follow, ...] = ()
    explained_by: str | None = None
    rivals: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    @property
    def sources(self) -> tuple[Source, ...]:
        """The lines that show it, strongest signal first, each once."""
        shown = sorted((o for o in self.outcomes if o.truth is Truth.TRUE), key=lambda o: -o.weight)
        return tuple(dict.fromkeys(source for outcome in shown for source in outcome.sources))


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A rule that was considered and does not hold; `outcome` is the signal that decided it, if one did."""

    rule: Rule
    condition: Truth
    outcomes: tuple[Outcome, ...]
    belief: float


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next to tell causes apart. `gain` is the expected drop of entropy in bits, `cost` seconds.

    `asks` is the id of the question that it asks, if it does.
    """

    kind: str
    id: str
    separates: tuple[str, ...]
    gain: float
    facts: tuple[str, ...] = ()
    how: str = ""
    how_zh: str = ""
    cost: float = 60.0
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A cause among those that are still possible, with its share of the probability."""

    rule: str
    belief: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The answer: roots first, what follows from them, what was ruled out and what could not be looked at.

    `questions` are those worth asking a person, best first; `suspects` the causes they decide between.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...] = ()
    next_steps: tuple[NextStep, ...] = ()
    unexplained: tuple[Event, ...] = ()
    missing: tuple[str, ...] = ()
    questions: tuple[NextStep, ...] = ()
    suspects: tuple[Suspect, ...] = ()

    @property
    def roots(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.role is Role.ROOT)
