"""Watches a job: reads what it writes, judges when something changes, and says what is new."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from doctor.engine.model import Diagnosis, Role, Verdict
from doctor.facts.model import Fact
from doctor.facts.vitals import Vitals as JobVitals
from doctor.rulebase.load import Loaded
from doctor.session.analyze import STDIN, Material, judge
from doctor.session.answers import Answers
from doctor.session.notes import Note
from doctor.session.report import Report
from doctor.session.watch.living import Living
from doctor.session.watch.model import Announcement, Heard, Kept, Mark, Status, Vitals
from doctor.session.watch.pace import Pace
from doctor.session.watch.remembered import remembered
from doctor.session.watch.stall import stalls_at
from doctor.session.watch.telling import ALARMING, Teller
from doctor.session.watch.unheard import honest
from probes.files.uncollected import uncollected
from probes.live.follow import Follower
from probes.live.follow.model import Remark
from probes.live.follow.tail import Tail

CATCHING_UP = 5.0
"""Seconds after which what is read is judged though there is more to read."""

WHOLE = 4
"""Attempts that are over of which the whole report is kept; of those before, their root causes."""

LONG_AGO = 1800.0
"""Seconds after which a log that nobody writes any more is taken for one of a job that is over: the greatest of
PyTorch's time-outs has ended it (torch/csrc/distributed/c10d/Backend.hpp)."""

FEW = 32
"""Files up to which patterns are matched in the way that starts at once."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A restart attempt that is over."""

    attempt: int
    report: Report


@dataclass(slots=True)
class Turned:
    """What one turn gave; `notes` tell what stands in the way of following a file. `more` if there is more to read at
    once."""

    heard: list[Heard] = field(default_factory=list)
    said: list[Announcement] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    more: bool = False


class Watch:
    """A job that is watched. `clock` gives seconds since the epoch; `kept` is what outlived a restart of pdoctor.

    `roots` are what was named to be followed, for files to be shown by their path below it.
    """

    def __init__(
        self,
        loaded: Loaded,
        follower: Follower,
        roots: Sequence[str] = (),
        answers: Answers | None = None,
        kept: Kept | None = None,
        vitals: Callable[[], Vitals] = JobVitals,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.follower = follower
        self._answers, self._new_vitals, self._clock = answers or Answers(), vitals, clock
        self._living = Living(loaded, roots, quick=True)
        self._vitals = vitals()
        self._teller = Teller(kept.told if kept else ())
        self._pace = Pace()
        self._caught_up_by: float | None = None
        self._stalls_at: float | None = None
        self._begins = True
        self._attempt: int | None = None
        self.episodes: list[Episode] = []
        self.report: Report | None = None
        self.heard_at: float | None = None
        """When something was last read."""
        self.changed = False
        """Was there a failure or a new finding in the last turn?"""

    def turn(self) -> Turned:
        """Reads what is new, judges if it is time, and gives what there is to say."""
        turn = self.follower.turn()
        at = self._clock()
        turned = Turned(ended=turn.ended, more=turn.more)
        turned.notes = [_note(one) for one in turn.remarks]
        serious = False
        expected = len(self.follower.followed)
        turned.notes += self._living.meet(turn.pieces, at, expected)
        for piece in turn.pieces:
            lines = self._living.lines
            events = self._living.take(piece, at, expected)
            turned.said += self._next_attempt(at)
            self._vitals.see(events, self._written(piece.path, at))
            serious = serious or self._living.serious(events)
            turned.heard.append(Heard(piece.path, self._living.lines - lines, len(piece.data), at))
            self.heard_at = at
        self._begins = self._begins and (turn.more or not turn.pieces)
        if turn.pieces:
            self._pace.heard(serious or self._vitals.sudden())
        if self._living.ripe(at) or self._living.changed(at) or self._teller.waits():
            self._pace.heard(True)
        if self.report is not None:
            self._pace.heard(self._stalls_at is not None and at >= self._stalls_at)  # silence is news too
        if turn.more and self._caught_up_by is None:
            self._caught_up_by = at + CATCHING_UP
        if not turn.more:
            self._caught_up_by = None
        if self._pace.due(at) and (self._caught_up_by is None or at >= self._caught_up_by):
            self._caught_up_by = None
            turned.said += self._judge(at, whole=not turn.more)
        return turned

    def add_facts(self, giver: str, facts: Sequence[Fact], lasting: bool = False) -> None:
        """Takes facts that were gathered elsewhere, as Further.give does; from any thread."""
        self._living.further.give(giver, facts, lasting)
        self._pace.heard(True)

    def finish(self, answers: Answers | None = None) -> list[Announcement]:
        """The last judgement, of everything as it stands and of what a person answered meanwhile: what was not said of
        it yet. `report` is the whole."""
        at = self._clock()
        self._answers = answers or self._answers
        self.report = honest(judge(self._material(None, at), self._answers))
        return list(self._teller.say(self.report, at, self.attempt, last=True))

    def material(self) -> Material:
        """What is known now, for a report to be made of it."""
        return self._material(None, self._clock())

    def status(self) -> Status:
        """How the job stands."""
        at = self._clock()
        facts = list(self._vitals.facts(at))
        named = {fact.name: fact.value for fact in facts}
        silent = {fact.entity for fact in facts if fact.name == "live.rank_silence"}
        ranks = named.get("live.ranks", 0)
        diagnosis = self.report.diagnosis if self.report else None
        findings = diagnosis.findings if diagnosis else ()
        return Status(
            at=at,
            ranks_alive=max(int(_number(ranks) or 0) - len(silent), 0),
            ranks_silent=len(silent),
            step=None if (step := _number(named.get("live.step"))) is None else int(step),
            step_time=_number(named.get("live.step_time")),
            mfu=_number(named.get("live.mfu")),
            memory=_fullest(facts),
            findings=sum(f.role is Role.ROOT and f.severity in ALARMING for f in findings),
            unexplained=diagnosis is not None and _unexplained(diagnosis),
            lines=self._living.lines,
            bytes=self._living.bytes,
            files=self._living.files,
        )

    def kept(self) -> Kept:
        """What has to outlive a restart."""
        tails = [one for one in self.follower.followed.values() if isinstance(one, Tail)]
        marks = tuple(Mark(tail.path, tail.device, tail.inode, tail.offset) for tail in tails)
        return Kept(marks, self._teller.told)

    def _written(self, path: str, at: float) -> float:
        """When what was read was written: a job may have fallen silent before the watch began. Later that is now, for
        the clock of a file system may be wrong."""
        if self._begins and path != STDIN:
            with suppress(OSError):
                written = os.stat(path).st_mtime
                return written if at - LONG_AGO < written < at else at
        return at

    @property
    def attempt(self) -> int | None:
        """The restart attempt that runs, where there were others before it."""
        return self._attempt if self.episodes else None

    def _material(self, at: float | None, now: float) -> Material:
        material = self._living.material(at, self._attempt)
        return replace(material, facts=(*material.facts, *self._vitals.facts(now)))

    def _judge(self, at: float, whole: bool) -> Iterable[Announcement]:
        begun = time.process_time()
        with uncollected():
            material = replace(self._material(at, at), configs=())
            self.report = honest(judge(material, self._answers, planning=False))
        self._stalls_at = stalls_at(self.report.store)
        said = list(self._teller.say(self.report, at, self.attempt, whole=whole))
        self._pace.judged(at, time.process_time() - begun)
        return said

    def _next_attempt(self, at: float) -> list[Announcement]:
        """A new restart attempt begins when its first file is read: what is known of the one before is its end."""
        attempts = self._living.attempts
        if not attempts or attempts[-1] == self._attempt:
            return []
        said = []
        if self._attempt is not None:
            said = self.finish()
            assert self.report is not None
            self.episodes.append(Episode(self._attempt, self.report))
            for episode in self.episodes[-WHOLE - 1 : -WHOLE]:
                self.episodes[-WHOLE - 1] = replace(episode, report=remembered(episode.report))
            self._living.begin_attempt()
            self._vitals, self._pace, self.report = self._new_vitals(), Pace(), None
        self._attempt = attempts[-1]
        return said


def _note(remark: Remark) -> Note:
    more = {"more": f"{remark.more:,}"} if remark.more else {}
    return Note(remark.key, remark.path, {"reason": remark.reason, **more})


def _unexplained(diagnosis: Diagnosis) -> bool:
    return diagnosis.verdict is Verdict.UNDETERMINED and bool(diagnosis.unexplained)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _fullest(facts: Sequence[Fact]) -> float | None:
    """The share in use of the GPU memory of the fullest rank."""
    used = {fact.entity: _number(fact.value) for fact in facts if fact.name == "live.memory_used"}
    limits = {fact.entity: _number(fact.value) for fact in facts if fact.name == "live.memory_limit"}
    shares = [value / limit for rank, value in used.items() if value is not None and (limit := limits.get(rank))]
    return max(shares, default=None)
