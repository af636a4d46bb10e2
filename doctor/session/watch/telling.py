"""Tells what is new in a report: a finding once, again when it changes in what matters, a storm in one line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.engine.model import Finding, Label, Role, Verdict
from doctor.facts.model import Event, Source
from doctor.rulebase.model import Severity
from doctor.rulebase.truth import Truth
from doctor.session.report import Report
from doctor.session.watch.model import Announcement, Kind, Told

SETTLED = 2.0
"""Seconds for which a sign of decline has to hold, or a failure has to stay without an explanation."""

FROM_FACTS, DOUBTFUL = 60.0, 300.0
"""Seconds for which a finding has to hold that only what is known of the job shows, and one that is merely possible:
the log of a job that starts lacks much that comes a moment later."""

LOST = ("gloo.peer_closed", "nccl.remote_closed", "nccl.remote_error")
LOST_ONLY = 10.0
"""Messages that a rank lost its connection to another one, and seconds for which nothing but such has to be shown: each
follows from a failure elsewhere, and a launcher may take that long to tell of it."""

SPEAKS = ("torch.worker_failed", "torch.child_failed")
"""What the launcher says when a rank has failed. It, and a rank that fails slowly, may speak some seconds after those
who lost their connection: until then a rank that says nothing is not gone without a word."""

GONE = 5.0
"""Seconds for which a finding must not hold any more before it is told to be over."""

NOT_YET = math.inf
"""When a finding was last seen that was told before a restart, until all is read again."""

STORM, STORM_GROWS = 16, 8
"""Messages that follow from one cause from which they are told as a storm, and again when there are so many times as
many."""

PY_SPY = "py-spy dump"
UNEXPLAINED = "unexplained"
ALARMING = (Severity.FATAL, Severity.DEGRADED)


@dataclass(slots=True)
class _Known:
    first_seen: float
    label: str
    entities: tuple[str, ...]
    told: bool = False
    last_seen: float = 0.0
    soon: bool = False
    storm: int = 0
    resolved: bool = False
    finding: Finding | None = None


class Teller:
    """Remembers what was said. `told` is what was said before a restart."""

    def __init__(self, told: tuple[Told, ...] = ()) -> None:
        self._known = {
            one.text_key: _Known(
                one.first_seen, one.label, one.entities, True, NOT_YET, storm=one.storm, resolved=one.resolved
            )
            for one in told
        }

    @property
    def told(self) -> tuple[Told, ...]:
        return tuple(
            Told(key, known.first_seen, known.label, known.entities, known.resolved, known.storm)
            for key, known in self._known.items()
            if known.told
        )

    def waits(self) -> bool:
        """Is there something that will be told if it still holds a moment later?"""
        return any(not known.told and known.soon for known in self._known.values())

    def say(
        self, report: Report, at: float, episode: int | None, last: bool = False, whole: bool = True
    ) -> Iterator[Announcement]:
        """What `report` has that was not said; `last` if there will be no other report of this episode, `whole` if all
        that was written was read for it."""
        suffix = f"@{episode}" if episode is not None else ""
        held: set[str] = set()
        for finding in report.diagnosis.findings:
            if not worth(finding):
                continue
            key = finding.rule.id + suffix
            held.add(key)
            yield from self._finding(finding, key, report, at, episode, last)
        if report.diagnosis.verdict is Verdict.UNDETERMINED and report.diagnosis.unexplained:
            key = UNEXPLAINED + suffix
            held.add(key)
            yield from self._unexplained(key, report, at, episode, last)
        for key, known in [*self._known.items()]:
            if ("@" in key) != bool(suffix) or not key.endswith(suffix):
                known.finding = None  # of an attempt that is over
                continue
            if key in held:
                continue
            before = known.finding or _restored(key, known, report)
            if not known.told:
                del self._known[key]
            elif before is None or (known.last_seen == NOT_YET and not whole):
                continue
            elif known.last_seen == NOT_YET or (before.severity is not Severity.FATAL and _failed(report)):
                known.last_seen = at  # a sign of decline is not made good by the failure that it led to
            elif not known.resolved and at - known.last_seen >= GONE:
                known.resolved = True
                # of what was told before a restart, the lines that showed it may only be rotated away
                if known.finding is not None or _alive(before):
                    yield Announcement(
                        Kind.RESOLVED, before, report, at, known.first_seen, known.entities, key, episode=episode
                    )

    def _finding(
        self, finding: Finding, key: str, report: Report, at: float, episode: int | None, last: bool
    ) -> Iterator[Announcement]:
        label = str(finding.label)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(at, label, finding.entities)
        known.last_seen, known.finding = at, finding
        known.soon = finding.role is Role.ROOT and patience(finding, report) <= LOST_ONLY
        kind = None
        if not known.told or known.resolved:
            # What follows from another finding is told with it.
            if finding.role is Role.ROOT and (last or at - known.first_seen >= patience(finding, report)):
                kind = Kind.UPDATED if known.told else Kind.NEW
        elif _surer(label, known.label) or _elsewhere(finding.entities, known.entities):
            kind = Kind.UPDATED
        if kind is not None:
            known.told, known.resolved, known.label, known.entities = True, False, label, finding.entities
            yield Announcement(kind, finding, report, at, known.first_seen, finding.entities, key, episode=episode)
        count = max((follow.count for follow in finding.follows), default=0)
        if known.told and finding.role is Role.ROOT and count >= max(STORM, STORM_GROWS * known.storm):
            known.storm = count
            yield Announcement(Kind.STORM, finding, report, at, known.first_seen, finding.entities, key, count, episode)

    def _unexplained(
        self, key: str, report: Report, at: float, episode: int | None, last: bool
    ) -> Iterator[Announcement]:
        rank = _rank_of(first_unexplained(report), report)
        entities = (f"rank:{rank}",) if rank is not None else ("job",)
        known = self._known.setdefault(key, _Known(at, "", entities, soon=True))
        known.last_seen = at
        located = known.entities == ("job",) != entities  # the launcher's line may be read before that of the rank
        patience = LOST_ONLY if _lost_only(report) else SETTLED
        if (not known.told and (last or at - known.first_seen >= patience)) or (known.told and located):
            known.told, known.entities = True, entities
            yield Announcement(Kind.UNEXPLAINED, None, report, at, known.first_seen, entities, key, episode=episode)


def _restored(key: str, known: _Known, report: Report) -> Finding | None:
    """What is still known of a finding that was told before a restart; None of what is no finding."""
    rule = report.rulebase.rules.get(key.partition("@")[0])
    if rule is None:
        return None
    return Finding(rule, 0.0, Label(known.label), Role.ROOT, Truth.FALSE, (), known.entities)


def first_unexplained(report: Report) -> Event:
    """Of the failures that no rule explains, the one that came first, as far as clocks and steps tell."""
    events = report.diagnosis.unexplained
    lines = {fact.source for fact in report.store.every("failure.first_line")}
    return next((event for event in events if event.source in lines), events[0])


def _rank_of(event: Event, report: Report) -> int | None:
    """The rank whose failure it is; a program that logs its exception without saying where may raise it once more."""
    said = {name: event.fields.get(name) for name in ("exception", "message")}
    if event.rank is not None or not said["exception"]:
        return event.rank
    same = (
        other.rank
        for other in report.diagnosis.unexplained
        if other.rank is not None and all(other.fields.get(name) == value for name, value in said.items())
    )
    return next(same, None)


def _lost_only(report: Report) -> bool:
    """Is all that failed a connection to somebody else?"""
    lost = {event.source for name in LOST for event in report.store.events(name)}
    return bool(lost) and all(event.source in lost for event in report.diagnosis.unexplained)


def worth(finding: Finding) -> bool:
    """Is the finding one that is spoken of: something that is wrong, or a risk that shows in how the job runs?"""
    if finding.role is Role.CONTRIBUTING:
        return False
    return finding.severity in ALARMING or (finding.severity is Severity.RISK and _alive(finding))


def _failed(report: Report) -> bool:
    """Has the job failed?"""
    roots = (finding for finding in report.diagnosis.findings if finding.role is Role.ROOT)
    return bool(report.diagnosis.unexplained) or any(finding.severity is Severity.FATAL for finding in roots)


def _alive(finding: Finding) -> bool:
    return _asks(finding, "live.")


def _asks(finding: Finding, fact: str) -> bool:
    return any(fact in signal.when for signal in finding.rule.signals.values())


def patience(finding: Finding, report: Report) -> float:
    """Seconds for which a finding has to hold before it is told: none where a line of a log says by itself that
    something is amiss, or a dump shows it; most where it is told by a line that did not come."""
    held = [outcome for outcome in finding.outcomes if outcome.truth is Truth.TRUE]
    if any("symptom" in event.fields for outcome in held for event in outcome.events):
        return 0.0
    if any(_taken(source) for outcome in held for source in outcome.sources):
        return 0.0
    if _asks(finding, "failure.gone") and not any(report.store.events(name) for name in SPEAKS):
        return LOST_ONLY
    if _alive(finding):
        return SETTLED
    return DOUBTFUL if finding.label is Label.POSSIBLE else FROM_FACTS


def _taken(source: Source) -> bool:
    """Is it of a dump, which is only taken where something seems wrong?"""
    return source.kind in ("flight_recorder", "stacks", "snapshot") or source.path.startswith(PY_SPY)


def _surer(label: str, before: str) -> bool:
    return bool(before) and Label(label).order < Label(before).order


def _elsewhere(entities: tuple[str, ...], before: tuple[str, ...]) -> bool:
    """Does it concern others than was said, or twice as many? No rank was said where none was known yet."""
    if not before:
        return any(entity.startswith("rank:") for entity in entities)
    return not set(entities) & set(before) or len(entities) >= 2 * len(before)
