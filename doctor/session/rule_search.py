"""From lines of a log, as someone pastes them, to the rules that read such lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from doctor.engine.observe import observe
from doctor.engine.situation import Situation
from doctor.facts.model import Event
from doctor.facts.store import FactStore
from doctor.rulebase.model import Rule, RuleBase, Signal
from doctor.rulebase.truth import Truth
from probes.files.log import read_text

PASTED = "pasted"
UNSURE = 0.5
"""What a signal counts whose further condition a few lines do not tell: half."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A signal that the lines show: the first of the lines, and the condition that remains open, if there is one."""

    signal: Signal
    event: Event
    where: str = ""

    @property
    def weight(self) -> float:
        """What it adds to the belief in the cause, in nats."""
        return self.signal.weight_present * (UNSURE if self.where else 1.0)


@dataclass(frozen=True, slots=True)
class Reader:
    """A rule, and the signals of it that the lines show, the strongest first."""

    rule: Rule
    seen: tuple[Seen, ...]

    @property
    def weight(self) -> float:
        return self.seen[0].weight


def events_in(text: str, base: RuleBase) -> list[Event]:
    """The catalogued messages in `text`."""
    reading = read_text(PASTED, text.encode("utf-8", "replace"), list(base.events.values()))
    return [event for event in reading.events if event.name != "log.last_line"]


def readers_of(events: list[Event], base: RuleBase) -> list[Reader]:
    """The rules with a signal for `events` that speaks for their cause, best first.

    A signal whose further conditions the lines contradict does not count. How often and on how many ranks a message
    must occur, and what lies before or after it, is not asked: lines that are pasted are a part of a log.
    """
    situation = Situation(FactStore([], events), dict(base.events))
    found = []
    for rule in base.rules.values():
        if seen := sorted(_seen(rule, events, situation), key=lambda one: -one.weight):
            found.append(Reader(rule, tuple(seen)))
    return sorted(found, key=lambda reader: (-reader.weight, -len(reader.seen), reader.rule.id))


def _seen(rule: Rule, events: list[Event], situation: Situation) -> Iterator[Seen]:
    for signal in rule.signals.values():
        first = next((event for event in events if event.name in signal.events), None)
        if first is None or signal.weight_present <= 0 or signal.name in rule.condition.none:
            continue
        alone = replace(signal, count=1, ranks=1, position="", before="", after="")
        outcome = observe(alone, situation, "job")
        if outcome.truth is not Truth.FALSE:
            yield Seen(
                signal,
                outcome.events[0] if outcome.events else first,
                signal.where if outcome.truth is Truth.UNKNOWN else "",
            )
