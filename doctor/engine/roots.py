"""Picks the roots: rivals for the same symptoms compete, consequences fold under their cause."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from doctor.engine.candidates import Candidate, probability
from doctor.engine.explain import Consequences
from doctor.rulebase.model import Severity
from doctor.rulebase.truth import Truth

UNSURE = 0.49
"""The most a cause is believed while its condition is unknown: it may be named, never asserted."""

SURE = 0.95
"""A cause believed as much needs no further step."""


def rank_key(candidate: Candidate) -> tuple[bool, int, float, int]:
    """Order of candidates: what is more likely than not, then the graver, the more believed, what explains more."""
    return candidate.belief < 0.5, candidate.rule.severity.order, -candidate.belief, -len(candidate.symptoms)


def parents(found: list[Candidate], explained: dict[str, Consequences]) -> dict[str, str]:
    """For each candidate that follows from another one: the rule it folds under.

    It folds when the other's rule names it, or when the other explains every symptom it was seen by. Of two that
    explain each other, the more believed stays on top.
    """
    chosen: dict[str, str] = {}
    by_strength = sorted(found, key=lambda c: -c.odds)
    for candidate in by_strength:
        for cause in by_strength:
            if cause is candidate or cause.condition is not Truth.TRUE or not _explains(cause, candidate, explained):
                continue
            if _explains(candidate, cause, explained) and candidate.odds >= cause.odds:
                continue
            if not _leads_to(cause.rule.id, candidate.rule.id, chosen):
                chosen[candidate.rule.id] = cause.rule.id
                break
    return chosen


def _explains(cause: Candidate, other: Candidate, explained: dict[str, Consequences]) -> bool:
    consequences = explained[cause.rule.id]
    if other.rule.id in consequences.rules:
        return True
    if cause.belief < 0.2 or not other.symptoms:
        return False
    return other.symptoms <= consequences.identities


def _leads_to(start: str, target: str, chosen: dict[str, str]) -> bool:
    """Is `target` already above `start`?"""
    while start in chosen:
        start = chosen[start]
        if start == target:
            return True
    return False


def compete(found: list[Candidate], folded: dict[str, str], explained: dict[str, Consequences]) -> set[str]:
    """Settles rivals and returns the ids of those that lost.

    Candidates seen by the same symptom exclude each other. Among them the odds are normalised with "something else"
    at even odds, so that a close rival costs the winner some of its belief. A winner accounts for its symptoms and for
    what follows from it; a rival that has no symptom left to itself has lost.
    """
    lost: set[str] = set()
    for candidate in found:
        if candidate.condition is Truth.UNKNOWN:
            candidate.odds = min(candidate.odds, _odds(UNSURE))
            candidate.belief = probability(candidate.odds)
    alarming = (Severity.FATAL, Severity.DEGRADED)
    standing = [c for c in found if c.rule.id not in folded and c.rule.severity in alarming]
    by_belief = sorted(standing, key=lambda c: (-c.odds, -len(c.symptoms)))
    taken: dict[int, Candidate] = {}
    groups: dict[str, list[Candidate]] = {}
    for candidate in by_belief:
        owners = {taken[s].rule.id: taken[s] for s in candidate.symptoms if s in taken}
        if owners and candidate.symptoms <= taken.keys():
            lost.add(candidate.rule.id)
            for owner in owners.values():
                groups[owner.rule.id].append(candidate)
                owner.rivals.append(candidate.rule.id)
        else:
            groups[candidate.rule.id] = []
            for symptom in candidate.symptoms | explained[candidate.rule.id].identities:
                taken.setdefault(symptom, candidate)
    for candidate in by_belief:
        candidate.belief = exp(candidate.odds) / _all_odds(candidate, groups.get(candidate.rule.id, ()))
    for owner in by_belief:
        rivals = groups.get(owner.rule.id, ())
        for rival in rivals:
            rival.belief = min(rival.belief, exp(rival.odds) / _all_odds(owner, rivals))
    return lost


def _all_odds(owner: Candidate, rivals: Sequence[Candidate]) -> float:
    """What the odds of a winner, of the rivals that name another cause, and of "something else" add up to."""
    return 1 + exp(owner.odds) + sum(exp(rival.odds) for rival in rivals if rival.rule.cause != owner.rule.cause)


def _odds(belief: float) -> float:
    return log(belief / (1 - belief))
