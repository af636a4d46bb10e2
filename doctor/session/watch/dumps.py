"""Dumps of a job that seems to hang, where a person allowed them: taken at once, and again shortly before the time-out
of its process groups ends it. What they say goes into the diagnosis. Where stacks were not asked for it is said how a
person gets them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from doctor.facts.model import Fact
from doctor.facts.ranks import names
from doctor.facts.store import FactStore
from doctor.session.node import look
from doctor.session.notes import Note
from doctor.session.report import Report
from doctor.session.watch.model import Announcement, Kind
from doctor.session.watch.the_job import NoJobError, job_of
from doctor.session.watch.trouble import Told
from probes.files.flight_recorder import read_dumps
from probes.live.dumps.flight import dump_flight_recorders
from probes.node.interface.host import Host
from probes.node.interface.processes import Job
from probes.node.interface.py_spy import INSTALL, NoStackError, find

FLIGHT, STACKS = "flight-recorder", "stacks"
KINDS = (FLIGHT, STACKS)
BEFORE, APART = 20.0, 30.0
"""Seconds before the time-out at which dumps are taken again, and the least between two dumps."""
NEARLY = 1
"""Steps: some rank may get to the end of the one that others hang in, and has not gone on with them."""
CHECKED, TRY = 3.0, 3.0
"""Seconds after which it is tried whether stacks can be had, when logs have been found; and that one look may take."""

Feed = Callable[[str, Sequence[Fact]], object]
"""Takes the facts of a kind of dump, in place of earlier ones of that kind."""


@dataclass(frozen=True, slots=True)
class Hang:
    """`strikes_at` is when a time-out will end the job, in seconds since the epoch, if that is known."""

    strikes_at: float | None = None


def suspected(store: FactStore) -> Hang | None:
    """Does the job seem to hang? Its vital signs say so (doctor/facts/vitals)."""
    if not any(fact.value is True for fact in store.every("live.stalled")):
        return None
    times = [float(fact.value) for fact in store.every("live.strikes_at") if isinstance(fact.value, int | float)]
    return Hang(min(times, default=None))


def _step(store: FactStore) -> float | None:
    """How far the job is."""
    steps = [float(fact.value) for fact in store.every("live.step") if isinstance(fact.value, int | float)]
    return max(steps, default=None)


def _went_on(store: FactStore, before: float | None) -> bool:
    """Does the job run that hung at step `before`?"""
    now = _step(store)
    if now is None or before is None or abs(now - before) <= NEARLY:
        return False
    return suspected(store) is None and not any(store.every("failure.first_line"))


@dataclass(slots=True, eq=False)
class Dumps:
    """Hears announcements, and takes dumps of `kinds` in a thread of its own.

    The job is the one that `host` names by process or number, else the one that writes a file of `followed`: no other
    job of the node is touched. `feed` is given the facts and `told` how it went, from that thread.
    """

    kinds: Sequence[str]
    host: Host
    followed: Callable[[], Iterable[str]]
    told: Told
    feed: Feed
    clock: Callable[[], float] = time.time
    _due: list[float] = field(default_factory=list)
    _hanging: bool = False
    _step: float | None = None
    """How far the job was when it last began to hang."""
    _fed: set[str] = field(default_factory=set)
    _over: bool = False
    """Has the job gone on since?"""
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _advised: bool = False
    _closed: bool = False
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._work, name="dumps", daemon=True)
        self._thread.start()

    def __call__(self, said: Announcement) -> None:
        """Plans dumps when a hang begins, and drops the plan when it is over. Neither waits nor raises."""
        with self._changed:
            hang = suspected(said.report.store)
            if said.kind is Kind.RESOLVED:
                if hang is None:
                    self._hanging, self._due = False, []
            elif hang is not None and not self._hanging:
                self._due = list(moments(self.clock(), hang))
                self._step = _step(said.report.store)
                self._hanging, self._advised, self._over = True, False, False
            self._changed.notify_all()

    def look(self, report: Report) -> None:
        """Once the job has gone on, what was taken of its hang holds no longer, and the next hang is another one. Where
        it has failed it tells why."""
        with self._changed:
            if self._over or not _went_on(report.store, self._step):
                return
            self._hanging, self._over, self._due = False, True, []
            for kind in self._fed:
                self.feed(kind, ())
            self._fed.clear()

    def close(self, seconds: float = 1.0) -> None:
        """Waits a moment for a dump that is being taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def take(self) -> None:
        """Takes the dumps now; where none of them tells who is waited for it says how a person gets stacks, once."""
        try:
            job = job_of(self.host, self.followed(), ", ".join(self.kinds))
        except NoJobError as error:
            if self.kinds:
                self.told(error.note)
            else:
                self._advise("attach.how_to_look_there", "")
            return
        known = self._flight(job) if FLIGHT in self.kinds else False
        if STACKS in self.kinds:
            self._stacks(job)
        elif not known:
            self._advise("attach.how_to_look", str(job.ranks[0].pid))

    def check(self) -> None:
        """Says at the start of the watch what will stand in the way of stacks: no py-spy, or no right to look."""
        if STACKS not in self.kinds:
            return
        try:
            rank = job_of(self.host, self.followed(), STACKS).ranks[0]
        except NoJobError as error:
            if error.lasting:
                self.told(error.note)
            return
        spy = find(self.host, rank)
        if spy is None:
            self._says("attach.not_dumped", STACKS, INSTALL)
            return
        try:
            spy.stack(rank, TRY)
        except NoStackError as error:
            if error.instead:  # it is a matter of rights: a rank that just starts is another
                self._says("attach.not_dumped", STACKS, f"{error}; run: {error.instead.replace('PID', str(rank.pid))}")

    def _advise(self, key: str, what: str) -> None:
        if not self._advised:
            self._advised = True
            self._says(key, what, "")

    def _flight(self, job: Job) -> bool:
        """Do the dumps tell of the whole job?"""
        flight = dump_flight_recorders(self.host, job.ranks)
        for reason, ranks in flight.refused.items():
            self._says("attach.not_dumped", FLIGHT, f"{names(ranks)}: {reason}")
        if not flight.dumped:
            return False
        self._says("attach.dumped", FLIGHT, names(list(flight.dumped)))
        if flight.refused or not job.whole:
            # A rank without dump would be taken for the one that the others wait for.
            self._says("attach.dump_partial", str(next(iter(flight.dumped.values())).parent), "")
            return False
        self._feed(FLIGHT, read_dumps([(path, str(path)) for path in flight.dumped.values()]).facts)
        return True

    def _stacks(self, job: Job) -> None:
        (outcome,) = look(replace(self.host, pid=job.ranks[0].pid), [STACKS])
        for reason in outcome.gaps:
            self._says("attach.not_dumped", STACKS, reason)
        if outcome.found:
            self._says("attach.dumped", STACKS, names([rank.rank for rank in job.ranks]))
            self._feed(STACKS, outcome.facts)

    def _feed(self, kind: str, facts: Sequence[Fact]) -> None:
        with self._changed:
            if not self._over:
                self._fed.add(kind)
                self.feed(kind, facts)

    def _says(self, key: str, what: str, text: str) -> None:
        self.told(Note(key, what, {"text": text}))

    def _work(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._due, CHECKED)
        if not (self._closed or self._due):
            self._tried(self.check)
        while self._wait():
            self._tried(self.take)

    def _tried(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # whatever a job's files and processes hold, the watch goes on
            if self.kinds:
                self._says("attach.not_dumped", ", ".join(self.kinds), f"{type(error).__name__}: {error}")

    def _wait(self) -> bool:
        """Waits until dumps are due; False when the watch ends."""
        with self._changed:
            while not self._closed:
                now = self.clock()
                if self._due and self._due[0] <= now:
                    self._due = [moment for moment in self._due if moment > now]
                    return True
                self._changed.wait(min(self._due[0] - now, 60.0) if self._due else None)
            return False


def moments(now: float, hang: Hang) -> Iterator[float]:
    """When dumps are taken of a hang that is suspected `now`: what has moved by the second time is not stuck."""
    yield now
    if hang.strikes_at is not None and hang.strikes_at - BEFORE - now >= APART:
        yield hang.strikes_at - BEFORE
