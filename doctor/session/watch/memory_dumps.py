"""Snapshots of GPU memory where it fills up, if a person allowed them: of the recorder in the job. What they say goes
into the diagnosis."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from doctor.facts.model import Fact
from doctor.facts.ranks import names
from doctor.facts.store import FactStore
from doctor.session.notes import Note
from doctor.session.report import Report
from doctor.session.watch.model import Announcement, Kind
from doctor.session.watch.the_job import NoJobError, belongs, job_of
from doctor.session.watch.trouble import Told
from probes.files.memory_snapshot import read_snapshots
from probes.live.dumps.memory import listening, snapshots
from probes.node.interface.host import Host
from probes.node.interface.processes import Rank

MEMORY = "memory"
APART = 600.0
"""Seconds after which a job whose memory still fills up is asked once more."""
FAR = 100_000
"""Steps from which on memory that grows is not told (LIV004)."""
MOST_RANKS = 4
"""Ranks that are asked at a time: what keeps memory does so on each alike, and a snapshot takes room and time."""
PRESSED = ("mem.retries", "run.alloc_retries")


def filling(store: FactStore) -> tuple[int, ...] | None:
    """The ranks whose GPU memory grows from step to step, or whose allocator gave its cache back to go on, as it does
    before it runs out; none of them known where the log does not name its rank; None where nothing fills up."""
    entities = [*_creeping(store)]
    for name in PRESSED:
        entities += [fact.entity for fact in store.every(name) if isinstance(fact.value, int) and fact.value > 0]
    entities += [fact.entity for fact in store.every("mem.grows") if fact.value is True]
    return _ranks(entities)


def creeping(store: FactStore) -> tuple[int, ...] | None:
    """The same of memory alone that creeps as LIV004 has it, for which nobody need wait until it is told."""
    return _ranks([*_creeping(store)])


def _ranks(entities: Sequence[str]) -> tuple[int, ...] | None:
    if not entities:
        return None
    ranks = {entity.removeprefix("rank:") for entity in entities if entity.startswith("rank:")}
    return tuple(sorted(int(rank) for rank in ranks if rank.isdecimal()))


def _creeping(store: FactStore) -> Iterator[str]:
    for fact in store.every("live.memory_creep"):
        left = store.get("live.memory_steps_left", fact.entity)
        far = left is not None and isinstance(left.value, int) and left.value >= FAR
        if isinstance(fact.value, int | float) and fact.value > 0 and not far:
            yield fact.entity


@dataclass(slots=True, eq=False)
class MemoryDumps:
    """Hears announcements, and takes snapshots in a thread of its own, since a rank answers after some steps.

    The job, `feed` and `told` are as of `Dumps`.
    """

    host: Host
    followed: Callable[[], Iterable[str]]
    told: Told
    feed: Callable[[str, Sequence[Fact]], object]
    clock: Callable[[], float] = time.time
    _next: float = float("-inf")
    _thread: threading.Thread | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)

    def __call__(self, said: Announcement) -> None:
        """Has snapshots taken when memory fills up. Neither waits nor raises."""
        if said.kind is not Kind.RESOLVED:
            self._begin(filling(said.report.store))

    def look(self, report: Report) -> None:
        """The same, of what may be told only later."""
        self._begin(creeping(report.store))

    def _begin(self, ranks: tuple[int, ...] | None) -> None:
        busy = self._stopping.is_set() or (self._thread is not None and self._thread.is_alive())
        if ranks is None or busy or self.clock() < self._next:
            return
        self._next = self.clock() + APART
        self._thread = threading.Thread(target=self._work, args=(ranks,), name="memory dumps", daemon=True)
        self._thread.start()

    def close(self, seconds: float = 1.0) -> None:
        """Waits for none that is not there yet."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def take(self, ranks: Sequence[int]) -> None:
        """Takes snapshots of `ranks` now; of the first rank here where none is named."""
        try:
            asked = chosen(self._here(), ranks)
        except NoJobError as error:
            self.told(error.note)
            return
        if not asked:
            self._says("attach.not_dumped", f"{names(list(ranks))}: not on this node")
            return
        taken = snapshots(self.host, asked, stopping=self._stopping)
        for reason, refused in taken.refused.items():
            self._says("attach.not_dumped", f"{names(refused)}: {reason}")
        for rank, path in taken.files.items():
            reading = read_snapshots([(path, str(path))])
            self._says("attach.dumped", f"{names([rank])}: {path}")
            for warning in reading.warnings.get(str(path), ()) if not reading.facts else ():
                self._says("attach.not_dumped", warning)
            self.feed(f"{MEMORY} {names([rank])}", reading.facts)

    def _here(self) -> list[Rank]:
        """The ranks here that can be asked, else all; NoJobError where there are none."""
        found = sorted(listening(self.host), key=lambda rank: rank.rank)
        followed = [*self.followed()]
        try:
            job = job_of(self.host, followed, MEMORY)
        except NoJobError:
            if own := [rank for rank in found if belongs(self.host, rank, followed)]:
                return own
            raise
        of_job = {rank.pid for rank in job.ranks}
        return [rank for rank in found if rank.pid in of_job] or list(job.ranks)

    def _says(self, key: str, text: str) -> None:
        self.told(Note(key, MEMORY, {"text": text}))

    def _work(self, ranks: Sequence[int]) -> None:
        try:
            self.take(ranks)
        except Exception as error:  # whatever a job's files and processes hold, the watch goes on
            self._says("attach.not_dumped", f"{type(error).__name__}: {error}")


def chosen(here: Sequence[Rank], ranks: Sequence[int]) -> list[Rank]:
    named = [rank for rank in here if rank.rank in ranks]
    return named[:MOST_RANKS] if ranks else list(here[:1])
