"""Facts and rules in, diagnosis out: pure, so that it can run again whenever a fact changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doctor.engine.candidates import Candidate, candidates, weigh
from doctor.engine.evidence import noted
from doctor.engine.explain import Consequences, consequences, follows
from doctor.engine.information import Hypothesis, shares
from doctor.engine.model import Diagnosis, Finding, Label, Role, Suspect, Verdict
from doctor.engine.next_step import groups_of, next_steps, questions
from doctor.engine.roots import UNSURE, compete, parents, rank_key
from doctor.engine.situation import NOT_OWN, Situation
from doctor.engine.survived import GOES_ON, TRACEBACK, is_lone, restarted, uncaught, was_finished, went_on
from doctor.facts.model import Event, Symptom
from doctor.facts.store import FactStore
from doctor.rulebase.expression import evaluate
from doctor.rulebase.model import Rule, RuleBase, Severity
from doctor.rulebase.truth import Truth

CERTAIN, LIKELY = 0.9, 0.6
MOST_UNEXPLAINED = 20
"""Failures without an explanation that are shown; the first ones tell most."""

STARTING = ("launch", "init", "load")
AT_WORK = ("training", "eval", "save", "exit")
"""Phases before the first step, and those that only a job gets to that has started well."""

LAST_LINES = 2
"""A log ends while the job starts when no more lines than these follow the last sign of starting."""

FEW_LINES = 20
"""Fewer lines than these, none of them known, are too little to call a job healthy."""


def diagnose(store: FactStore, rulebase: RuleBase, asked: frozenset[str] = frozenset()) -> Diagnosis:
    """The causes that best explain what is known, what follows from them, and what would tell more.

    `asked` are questions that a person had and could not answer: they are not put again.
    """
    situation = Situation(store, dict(rulebase.events), rulebase.catalogue)
    usable = [rule for rule in rulebase.rules.values() if rule.status != "deprecated"]
    found, ruled_out = candidates(usable, situation)
    explained = {candidate.rule.id: consequences(candidate, situation, found) for candidate in found}
    folded = parents(found, explained)
    lost = compete(found, folded, explained)
    findings = [_finding(c, explained[c.rule.id], folded, lost, situation) for c in found]
    findings.sort(key=_order)
    findings = _demote_quiet(findings)
    tops = {f.rule.id for f in findings if f.role is Role.ROOT}
    roots = sorted((c for c in found if c.rule.id in tops), key=rank_key)
    unexplained = _unexplained(found, explained, situation)
    verdict = _verdict(findings, unexplained, situation)
    groups = groups_of(roots, found, ruled_out, verdict is Verdict.UNDETERMINED)
    asking = questions(groups, rulebase, situation, asked)
    return Diagnosis(
        verdict=verdict,
        findings=tuple(findings),
        ruled_out=tuple(ruled_out),
        next_steps=next_steps(roots, found, rulebase, asking),
        unexplained=unexplained,
        missing=tuple(dict.fromkeys(n for c in found for o in c.outcomes for n in o.missing)),
        questions=asking,
        suspects=_suspects(groups, found),
    )


def _suspects(groups: Sequence[Sequence[Hypothesis]], found: list[Candidate]) -> tuple[Suspect, ...]:
    """What is still possible, most probable first: findings as they are believed, others by their share."""
    believed = {candidate.rule.id: candidate.belief for candidate in found}
    share: dict[str, float] = {}
    for group in groups:
        for hypothesis, part in zip(group, shares(group), strict=True):
            share.setdefault(hypothesis.rule.id, believed.get(hypothesis.rule.id, part))
    return tuple(Suspect(*item) for item in sorted(share.items(), key=lambda item: -item[1]))


def _finding(
    candidate: Candidate, found: Consequences, folded: dict[str, str], lost: set[str], situation: Situation
) -> Finding:
    rule, role = candidate.rule, Role.ROOT
    if rule.id in folded:
        role = Role.CONSEQUENCE
    elif rule.id in lost:
        role = Role.CONTRIBUTING
    return Finding(
        rule=replace(rule, remedies=tuple(r for r in rule.remedies if _applies(r.requires, situation))),
        belief=candidate.belief,
        label=_label(candidate.belief, candidate.condition),
        role=role,
        condition=candidate.condition,
        outcomes=noted(candidate.outcomes, rule.evidence, situation.store, situation.catalogue),
        entities=candidate.entities,
        follows=follows(candidate, found, situation) if role is Role.ROOT else (),
        explained_by=folded.get(rule.id),
        rivals=tuple(candidate.rivals),
    )


def _label(belief: float, condition: Truth) -> Label:
    if condition is not Truth.TRUE or belief <= UNSURE:
        return Label.POSSIBLE
    return Label.CERTAIN if belief >= CERTAIN else Label.LIKELY if belief >= LIKELY else Label.POSSIBLE


def _applies(requires: str, situation: Situation) -> bool:
    """A remedy is shown unless what it requires is known to be false."""
    return not requires or evaluate(requires, situation.lookup("job")).value is not False


def _order(finding: Finding) -> tuple[int, bool, int, float, str]:
    roles = (Role.ROOT, Role.CONSEQUENCE, Role.CONTRIBUTING)
    doubtful = finding.belief < 0.5
    return roles.index(finding.role), doubtful, finding.severity.order, -finding.belief, finding.rule.id


def _demote_quiet(findings: list[Finding]) -> list[Finding]:
    """Beside something that is wrong, what is merely a risk or worth knowing contributes and is no root."""
    alarming = (Severity.FATAL, Severity.DEGRADED)
    if not any(f.role is Role.ROOT and f.severity in alarming for f in findings):
        return findings
    quiet = [f for f in findings if f.role is Role.ROOT and f.severity not in alarming]
    kept = [f for f in findings if f not in quiet]
    return kept + [replace(f, role=Role.CONTRIBUTING) for f in quiet]


def _unexplained(found: list[Candidate], explained: dict[str, Consequences], situation: Situation) -> tuple[Event, ...]:
    """Failures that no finding accounts for, the first one in time first."""
    covered = {s for c in found for s in c.symptoms} | {i for c in explained.values() for i in c.identities}
    names = {name for name in situation.store.event_names() if _tells_a_failure(name, situation)}
    left = [event for event in situation.store.events() if event.name in names and id(event) not in covered]
    left = [event for event in left if _failed(event, situation)]
    firsts = {fact.source for fact in situation.store.every("failure.first_line")}
    left.sort(key=lambda e: (e.source not in firsts, e.time is None, e.time or 0.0, e.source.path, e.order))
    return tuple(left[:MOST_UNEXPLAINED])


def _tells_a_failure(name: str, situation: Situation) -> bool:
    spec = situation.specs.get(name)
    return name == TRACEBACK or (spec is not None and spec.symptom is Symptom.FATAL)


def _failed(event: Event, situation: Situation) -> bool:
    """Of what tells a failure: does it show one? Not an exception or a report of an end after which the job went on.

    What belongs to one or two steps may only have been on its way: launchers read the errors and the output of a rank
    apart from each other, and where ranks have no labels it may be another's. A lone message, as programs print it of
    what they caught, shows a failure only as the last words of a rank that was not done.
    """
    spec = situation.specs.get(event.name)
    if not (event.name == TRACEBACK or (spec is not None and (spec.follows or spec.raised))):
        return True
    told = situation.milestones.get(event.source.path, ())
    if is_lone(event) and was_finished(event, told, situation.specs):
        return False
    mixed = event.name == TRACEBACK or event.rank is not None or event.local_rank is not None
    enough = GOES_ON if mixed and not is_lone(event) else 1
    return not went_on(event, told, enough) or uncaught(event) or restarted(event, told)


def _verdict(findings: list[Finding], unexplained: tuple[Event, ...], situation: Situation) -> Verdict:
    alarming = [f for f in findings if f.severity in (Severity.FATAL, Severity.DEGRADED) and f.role is Role.ROOT]
    if alarming:
        return Verdict.PROBLEM
    nothing_known = not (situation.logs_read or situation.store.names())
    if unexplained or nothing_known or _stopped_early(situation):
        return Verdict.UNDETERMINED
    return Verdict.HEALTHY


def _stopped_early(situation: Situation) -> bool:
    """Does a log end while the job still starts, or hold next to nothing, or only what follows from a failure that it
    does not show? Such a job may as well hang."""
    own = [event for event in situation.store.events() if event.name not in NOT_OWN]
    ends: dict[str, int] = {}
    for last in situation.store.events("log.last_line"):  # one a rank, several of which may share a file
        ends[last.source.path] = max(last.source.line, ends.get(last.source.path, 0))
    if not own:
        return bool(ends) and max(ends.values()) < FEW_LINES
    if all(event.name in situation.follow_ons for event in own):
        return True
    incomplete = situation.store.get("nccl.init_incomplete")
    if incomplete is not None and incomplete.value is True:
        return True
    if any(event.step is not None or "step" in event.fields or _phase(event, situation) in AT_WORK for event in own):
        return False
    starting = [event for event in own if _phase(event, situation) in STARTING]
    return any(ends.get(event.source.path, 0) - event.source.line <= LAST_LINES for event in starting)


def _phase(event: Event, situation: Situation) -> str:
    spec = situation.specs.get(event.name)
    return spec.phase if spec else ""


def explain_rule(rule: Rule, store: FactStore, rulebase: RuleBase) -> Candidate:
    """How `rule` comes out, whether it holds or not: for `--explain`."""
    return weigh(rule, Situation(store, dict(rulebase.events)))
