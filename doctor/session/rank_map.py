"""All ranks of a job at one look: how each of them ended, as far as it is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from doctor.facts.model import Symptom
from doctor.rulebase.model import Severity
from doctor.session.report import Report

PER_NODE = 8
"""Ranks drawn together where no host is known."""
MOST_RANKS = 65_536
SIZES = ("job.world_size_seen", "fr.world_size", "config.world_size")


class RankState(StrEnum):
    """How a rank ended, the gravest first. ROOT: a root cause is on it. FAILED: it shows a failure that is no mere
    consequence. WAITED: what it shows follows from a root, or it waits for another. ABSENT: it left no dump where
    others did. FINE: it was seen, and nothing is wrong with it. UNSEEN: nothing of it was handed over."""

    ROOT = "root"
    FAILED = "failed"
    WAITED = "waited"
    ABSENT = "absent"
    FINE = "fine"
    UNSEEN = "unseen"


LETTERS = {
    RankState.ROOT: "R",
    RankState.FAILED: "F",
    RankState.WAITED: "w",
    RankState.ABSENT: "a",
    RankState.FINE: "·",
    RankState.UNSEEN: "?",
}
"""Each state's letter, so that colour is never alone."""


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks that are drawn together: those of a host, empty where it is not known, in order."""

    host: str
    ranks: tuple[tuple[int, RankState], ...]


@dataclass(frozen=True, slots=True)
class RankMap:
    groups: tuple[RankGroup, ...]

    @property
    def counts(self) -> dict[RankState, tuple[int, ...]]:
        """The ranks of each state that occurs, gravest state first."""
        found: dict[RankState, list[int]] = {state: [] for state in RankState}
        for group in self.groups:
            for rank, state in group.ranks:
                found[state].append(rank)
        return {state: tuple(sorted(ranks)) for state, ranks in found.items() if ranks}


def rank_map_of(report: Report) -> RankMap | None:
    """The map of the job's ranks; None where fewer than two are known of."""
    seen = _seen(report)
    size = max([*(_number(report, name) for name in SIZES), max(seen, default=-1) + 1])
    if size < 2 or size > MOST_RANKS:
        return None
    states = _states(report, seen)
    hosts = {fact.entity: str(fact.value) for fact in report.store.every("rank.host")}
    groups: dict[str, list[tuple[int, RankState]]] = {}
    for rank in range(size):
        host = hosts.get(f"rank:{rank}", "")
        key = host or f"\0{rank // PER_NODE}"
        groups.setdefault(key, []).append((rank, states.get(rank, RankState.UNSEEN)))
    return RankMap(tuple(RankGroup("" if key[0] == "\0" else key, tuple(ranks)) for key, ranks in groups.items()))


def _states(report: Report, seen: set[int]) -> dict[int, RankState]:
    """What is graver is written later."""
    store, specs = report.store, report.rulebase.events
    states = dict.fromkeys(seen, RankState.FINE)
    alarming = [root for root in report.diagnosis.roots if root.severity in (Severity.FATAL, Severity.DEGRADED)]
    states |= dict.fromkeys(_numbers(report, "fr.absent_ranks"), RankState.ABSENT)
    waiting = {fact.entity for fact in store.every("fr.waits_for")} | {
        fact.entity for fact in store.every("fr.pending")
    }
    states |= dict.fromkeys(_ranks(waiting), RankState.WAITED)
    following = {rank for root in alarming for follow in root.follows for rank in follow.ranks}
    for event in store.events():
        spec = specs.get(event.name)
        if event.rank is None or spec is None or spec.symptom is not Symptom.FATAL:
            continue
        waited = bool(alarming) and (spec.follows or event.rank in following)
        if states.get(event.rank) is not RankState.FAILED:
            states[event.rank] = RankState.WAITED if waited else RankState.FAILED
    states |= dict.fromkeys(_ranks(entity for root in alarming for entity in root.entities), RankState.ROOT)
    return states


def _seen(report: Report) -> set[int]:
    ranks = {event.rank for event in report.store.events() if event.rank is not None}
    return {rank for rank in ranks | _ranks(report.store.entities("rank")) if 0 <= rank < MOST_RANKS}


def _ranks(entities: Iterable[str]) -> set[int]:
    names = [entity.removeprefix("rank:") for entity in set(entities) if entity.startswith("rank:")]
    return {int(name) for name in names if name.isdecimal() and len(name) < 7}


def _number(report: Report, name: str) -> int:
    fact = report.store.get(name)
    return fact.value if fact is not None and isinstance(fact.value, int) else 0


def _numbers(report: Report, name: str) -> list[int]:
    fact = report.store.get(name)
    values = fact.value if fact is not None and isinstance(fact.value, tuple) else ()
    return [value for value in values if isinstance(value, int)]
