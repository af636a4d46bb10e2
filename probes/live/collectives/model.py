"""What a collective test found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from probes.live.collectives.halving import Narrowed
from probes.live.collectives.layout import Group
from probes.live.collectives.search import Verdict
from probes.live.collectives.siblings import Blame

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")


@dataclass(frozen=True, slots=True)
class Row:
    """One operation at one size: B as nccl-tests counts them, mean seconds of a call over calls and ranks.

    `slowest` is the time of the slowest rank; `wrong` counts wrong values on all ranks.
    """

    operation: str
    bytes: int
    ranks: int
    calls: int
    seconds: float
    slowest: float
    wrong: int

    @property
    def algbw(self) -> float:
        """B/s: payload over time."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def busbw(self) -> float:
        """B/s that each link must have carried (nccl-tests, doc/PERFORMANCE.md)."""
        n = self.ranks
        if self.operation in ("broadcast", "send_recv"):
            return self.algbw
        return self.algbw * (2 if self.operation == "all_reduce" else 1) * (n - 1) / n


def row_of(operation: str, calls: int, answers: Mapping[int, Mapping[str, Any]]) -> Row:
    """The row that the answers of all ranks come to."""
    seconds = [float(answer["seconds"][0]) for answer in answers.values()]
    wrong = sum(int(answer.get("wrong", 0)) for answer in answers.values())
    counted = int(next(iter(answers.values()))["bytes"])
    return Row(operation, counted, len(answers), calls, mean(seconds), max(seconds), wrong)


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One operation in one group of the layout, while its siblings did the same. `hosts` is how many it lies on.

    `usual` is the busbw of siblings that are alike (B/s), 0 where it was not judged.
    """

    group: Group
    hosts: int
    row: Row
    usual: float = 0.0
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """What could not be measured, and why."""

    operation: str
    bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The test ended because ranks did not answer. `ranks` is empty where all wait and nobody stands out.

    `narrowed` then says among which ranks the operation hangs, where that was looked for.
    """

    ranks: tuple[int, ...]
    operation: str
    bytes: int
    why: str
    narrowed: Narrowed | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A rank: its host and device."""

    rank: int
    host: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A whole test. `units` are the ranks of the pairs that `verdict` speaks of, in its order."""

    backend: str
    members: tuple[Member, ...] = ()
    rows: tuple[Row, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    lost: Lost | None = None
    groups: tuple[GroupRow, ...] = ()
    blames: tuple[Blame, ...] = ()
    verdict: Verdict | None = None
    units: tuple[int, ...] = ()
    pair_bytes: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(member.host for member in self.members))

    def name(self, rank: int) -> str:
        """A rank as people know it: by its host, where that has no other rank."""
        host = next((member.host for member in self.members if member.rank == rank), "?")
        alone = sum(member.host == host for member in self.members) == 1
        return host if alone and host != "?" else f"rank {rank}"
