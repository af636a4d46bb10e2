"""What a rank's dump says, brought into one form whatever version, backend or encoding wrote it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

SYNCHRONOUS = ("gloo", "mpi", "ucc")
"""Backends that never report a call as completed: it is retired when it is done. For the others a call that was
retired before it completed has timed out."""


@dataclass(frozen=True, slots=True)
class Group:
    """A process group: its name, what it is for, and its ranks in group order; no ranks where the dump has none."""

    name: str
    desc: str
    ranks: tuple[int, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)  # there may be thousands of ranks

    @property
    def title(self) -> str:
        return self.desc if self.desc not in ("", "undefined") else f"group {self.name}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a rank brings to a collective; ranks of one group must bring the same, but for all-to-all and its like.

    `elements_in` and `elements_out` are numbers of elements over all tensors.
    """

    op: str
    dtypes: str
    elements_in: int
    elements_out: int


@dataclass(frozen=True, slots=True)
class Record:
    """One call that has not finished. `id` orders the calls of one rank and means nothing beside another rank's.

    `seq` is the number of the collective in its group, or of the point-to-point call, which each rank counts alone.
    `batch` is the number that the calls of one coalesced batch share.
    `peer` is the global rank at the other end of a point-to-point call, -1 where it cannot be told.
    """

    id: int
    group: Group
    seq: int
    shape: Shape
    state: str
    created: int
    frame: str
    p2p: bool = False
    sends: bool = False
    peer: int = -1
    timed_out: bool = False
    batch: int = 0
    backend: str = ""

    @property
    def op(self) -> str:
        return self.shape.op

    @property
    def synchronous(self) -> bool:
        return self.backend in SYNCHRONOUS

    @property
    def title(self) -> str:
        """The call in words."""
        way = f" {'to' if self.sends else 'from'} rank {self.peer}" if self.p2p and self.peer >= 0 else ""
        return f"{self.op}{way} {self.seq} in {self.group.title}"


Step: TypeAlias = tuple[str, str]
"""What a group is for, and the operation: the same on all ranks that do the same work."""


@dataclass(slots=True)
class Lane:
    """The collectives of one group on one rank: number and shape of each record, in the order they were made.

    `shapes` are keys of the dump's table; `sites` are the places in the user's code of the last ones. `enqueued` and
    `done` are the last collective that was issued, and the last up to which all are finished; `ends`: a finished one
    is among the records, so that none that is not has been overwritten.
    """

    seqs: array[int] = field(default_factory=lambda: array("q"))
    shapes: array[int] = field(default_factory=lambda: array("Q"))
    sites: dict[int, str] = field(default_factory=dict)
    enqueued: int = 0
    done: int = 0
    ends: bool = False


@dataclass(slots=True)
class Dump:
    """The dump of one rank. `pending` are its unfinished calls, the oldest first; `newest` is the latest time in it.

    `shapes` explains the numbers in the lanes; `last` and `frame` are the last call of all; `steps` counts which call
    followed which; `ways` are the last steps to the oldest unfinished one; `told` are the lanes of which only the
    status is known;
    `ended` are the last calls of groups whose backend retires failed calls like finished ones;
    `p2p` are the groups with point-to-point calls, which the status counts together with the collectives; `unrecorded`:
    there were some of which the backend left no record.
    """

    path: str
    rank: int
    version: str
    lanes: dict[Group, Lane] = field(default_factory=dict)
    pending: list[Record] = field(default_factory=list)
    groups: tuple[Group, ...] = ()
    shapes: dict[int, Shape] = field(default_factory=dict)
    backends: frozenset[str] = frozenset()
    entries: int = 0
    newest: int = 0
    last: str = ""
    frame: str = ""
    steps: dict[tuple[Step, Step], int] = field(default_factory=dict)
    ways: tuple[tuple[Step, Step], ...] = ()
    told: dict[Group, tuple[int, int]] = field(default_factory=dict)
    p2p: set[Group] = field(default_factory=set)
    unrecorded: bool = False
    ended: dict[Group, Record] = field(default_factory=dict)


Dumps: TypeAlias = Mapping[int, Dump]
"""The dumps of one moment by rank."""
