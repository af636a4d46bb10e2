"""What a watched job gives: what was heard, how it stands, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from doctor.engine.model import Finding
from doctor.facts.model import Event, Fact
from doctor.session.report import Report


class Kind(StrEnum):
    """A finding is new, known but changed in what matters, or gone; a storm is many messages that follow from one.
    A failure may show that no rule explains."""

    NEW = "new"
    UPDATED = "updated"
    RESOLVED = "resolved"
    STORM = "storm"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Announcement:
    """Something said once. `text_key` is the same for one finding of one episode, also after a restart.

    `at` and `first_seen` are seconds since the epoch by pdoctor's clock: of this announcement, and of the first one
    with this key. `entities` are those of the finding; `count` is the number of messages of a storm, `episode` the
    restart attempt that it belongs to, where the job has several. `finding` of a storm is the one that it follows from;
    it is None where no rule explains a failure, which is then the first of `report.diagnosis.unexplained`.
    """

    kind: Kind
    finding: Finding | None
    report: Report
    at: float
    first_seen: float
    entities: tuple[str, ...]
    text_key: str
    count: int = 0
    episode: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """How the job stands. Times are seconds, `mfu` is a share of 1, `memory` the share of the fullest GPU in use;
    None where the logs do not say. `findings` are those that alarm; `lines`, `bytes` and `files` what was read;
    `unexplained` if a failure shows that no rule explains."""

    at: float
    ranks_alive: int = 0
    ranks_silent: int = 0
    step: int | None = None
    step_time: float | None = None
    mfu: float | None = None
    memory: float | None = None
    findings: int = 0
    lines: int = 0
    bytes: int = 0
    files: int = 0
    unexplained: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """What was read of one file in one turn."""

    path: str
    lines: int
    bytes: int
    at: float


@dataclass(frozen=True, slots=True)
class Mark:
    """Where reading a file stands, for a restart to go on: the file by device and inode and by the hash of its first
    bytes (`print_bytes` of them), how many bytes are done, and `reader`, the log reader's own state up to there
    (msgpack; empty where the file is read from its beginning again)."""

    path: str
    device: int
    inode: int
    offset: int
    fingerprint: str = ""
    print_bytes: int = 0
    reader: bytes = b""


@dataclass(frozen=True, slots=True)
class Told:
    """An announcement that was made, for it not to be made again: its key, when first, what it said of the label and
    the entities, and the messages of the storm that was told with it."""

    text_key: str
    first_seen: float
    label: str
    entities: tuple[str, ...]
    resolved: bool = False
    storm: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """What has to outlive a restart; doctor.session.watch.state writes and reads it."""

    marks: tuple[Mark, ...] = ()
    told: tuple[Told, ...] = ()


class Vitals(Protocol):
    """Signs of life and of decline, drawn from the events as they come. Bounded memory; the clock is passed in."""

    def see(self, events: Iterable[Event], at: float) -> None:
        """Take note of new events that were read at `at`, in seconds since the epoch."""

    def facts(self, now: float) -> Iterable[Fact]:
        """The `live.*` facts as they stand at `now`."""

    def sudden(self) -> bool:
        """Is there something since this was asked last that should be judged at once?"""


class Listener(Protocol):
    """Is told of everything said; what it does must neither block nor raise."""

    def __call__(self, said: Announcement) -> None: ...
