"""A Megatron-like job of tensor, pipeline and expert groups that runs until faults stop it, as its dumps would show it.

Every rank has a program that issues calls in order and, at marked places, waits for its device; a device runs the
calls of a rank in order. A collective is over when the devices of all its ranks have come to it. Only unfinished calls
are dumped, with the counts of the watchdog, as a job does that records active calls only.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from probes.files.flight_recorder.model import Dump
from probes.files.flight_recorder.normal import normal
from tests.probes.files.flight_recorder.dumps import START


@dataclass(frozen=True)
class Call:
    """`op` on `group`; a send or receive has a `peer`. After a call with `sync` the program waits for the device."""

    op: str
    group: str
    peer: int = -1
    sync: bool = False


@dataclass
class Rank:
    calls: list[Call]
    issued: int = 0
    over: int = 0
    seen: int = 0
    stopped: bool = False
    stuck: bool = False


@dataclass
class Cluster:
    """`tp` ranks of a node-local group, `pp` stages, the rest expert and data parallel."""

    tp: int
    pp: int
    world: int
    rng: random.Random
    groups: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    ranks: list[Rank] = field(default_factory=list)

    def __post_init__(self) -> None:
        stage = self.world // self.pp
        self.groups = {"0": ("default_pg", tuple(range(self.world)))}
        number = 1
        for first in range(0, self.world, self.tp):
            self.groups[str(number)] = ("TENSOR_MODEL_PARALLEL_GROUP", tuple(range(first, first + self.tp)))
            number += 1
        for place in range(self.pp):
            self.groups[str(number)] = (
                "EXPERT_MODEL_PARALLEL_GROUP",
                tuple(range(place * stage, place * stage + stage)),
            )
            number += 1
        for offset in range(stage):
            self.groups[str(number)] = ("PIPELINE_MODEL_PARALLEL_GROUP", tuple(range(offset, self.world, stage)))
            number += 1
        self.ranks = [Rank(list(self._program(rank))) for rank in range(self.world)]

    def group(self, rank: int, desc: str) -> str:
        return next(name for name, (what, ranks) in self.groups.items() if what == desc and rank in ranks)

    def _program(self, rank: int) -> list[Call]:
        tp, ep, pp = (
            self.group(rank, f"{what}_PARALLEL_GROUP") for what in ("TENSOR_MODEL", "EXPERT_MODEL", "PIPELINE_MODEL")
        )
        stage = self.world // self.pp
        place, calls = rank // stage, []
        for _ in range(6):
            if place > 0:
                calls.append(Call("recv", pp, rank - stage))
            for _ in range(3):
                calls += [
                    Call("_all_gather_base", tp),
                    Call("_all_gather_base", ep, sync=True),
                    Call("all_to_all", ep),
                    Call("all_to_all", ep),
                    Call("_reduce_scatter_base", tp),
                ]
            if place < self.pp - 1:
                calls.append(Call("send", pp, rank + stage))
        return calls

    def run(self, cpu: dict[int, int], gpu: dict[int, int], blind: dict[int, int]) -> None:
        """Until nothing moves: the programs of `cpu` stop before, the devices of `gpu` and `blind` at that call of theirs.

        A device of `gpu` fails: it takes part in what is queued, but nothing of it is seen to finish. One of `blind`
        stands still before the call.
        """
        while self._turn(cpu, gpu, blind):
            pass

    def strike(self, fault: str, ranks: list[int], turns: int) -> list[int]:
        """All of `ranks` stop at one moment, after so many turns; those are given back in whose dumps it can show: a
        rank that waits for another anyway stands as still as before."""
        for _ in range(turns):
            self._turn({}, {}, {})
        issued = {rank: self.ranks[rank].issued for rank in ranks}
        seen = {rank: self.ranks[rank].seen for rank in ranks}
        self.run(issued if fault == "cpu" else {}, seen if fault == "gpu" else {}, {})
        return [rank for rank in ranks if self._shows(rank, fault)]

    def _shows(self, rank: int, fault: str) -> bool:
        own = self.ranks[rank]
        if fault == "gpu":
            return own.over > own.seen
        waits = own.issued and own.calls[own.issued - 1].sync and own.seen < own.issued
        return own.issued < len(own.calls) and not waits

    def _turn(self, cpu: dict[int, int], gpu: dict[int, int], blind: dict[int, int]) -> bool:
        moved = False
        for rank in self.rng.sample(range(self.world), self.world):
            moved |= self._issue(rank, cpu) | self._device(rank, gpu, blind)
        return moved

    def _issue(self, rank: int, cpu: dict[int, int]) -> bool:
        own = self.ranks[rank]
        moved = False
        while own.issued < len(own.calls):
            waits = own.issued and own.calls[own.issued - 1].sync and own.seen < own.issued
            if waits or cpu.get(rank) == own.issued:
                break
            own.issued += 1
            moved = True
        return moved

    def _device(self, rank: int, gpu: dict[int, int], blind: dict[int, int]) -> bool:
        own = self.ranks[rank]
        if own.over >= own.issued or blind.get(rank) == own.over:
            return False
        if not all(self._at(other, rank, own.calls[own.over]) for other in self._needed(rank, own.calls[own.over])):
            return False
        own.over += 1
        if own.seen < gpu.get(rank, 1 << 30):
            own.seen = own.over
        return True

    def _needed(self, rank: int, call: Call) -> list[int]:
        if call.peer >= 0:
            return [call.peer]
        return [other for other in self.groups[call.group][1] if other != rank]

    def _at(self, other: int, rank: int, call: Call) -> bool:
        """Has the device of `other` come to the same call, or past it?"""
        mine, theirs = self.ranks[rank], self.ranks[other]
        if call.peer >= 0:
            back = "recv" if call.op == "send" else "send"
            nth = sum(c == call for c in mine.calls[: mine.over])
            places = [i for i, c in enumerate(theirs.calls) if c.op == back and c.peer == rank]
        else:
            nth = sum(c.group == call.group for c in mine.calls[: mine.over])
            places = [i for i, c in enumerate(theirs.calls) if c.group == call.group]
        return theirs.over >= places[nth] and theirs.issued > places[nth]

    def dump(self, rank: int, kept: int = 0) -> dict[str, Any]:
        """Unfinished calls only; with `kept`, the last so many of all."""
        own, entries = self.ranks[rank], []
        names = [name for name, (_, ranks) in self.groups.items() if rank in ranks]
        counts: dict[str, list[int]] = {name: [0, 0] for name in names}
        for number, call in enumerate(own.calls[: own.issued]):
            count = counts[call.group]
            count[0] += 1
            count[1] += (over := number < own.seen)
            if over and not kept:
                continue
            ranks, way = self.groups[call.group][1], "->" if call.op == "send" else "<-"
            ends = f" {ranks.index(rank)}{way}{ranks.index(call.peer)}" if call.peer >= 0 else ""
            entries.append(
                {
                    "record_id": 10_000 * rank + number,
                    "pg_id": names.index(call.group),
                    "process_group": (call.group, self.groups[call.group][0]),
                    "collective_seq_id": 0 if ends else count[0],
                    "p2p_seq_id": count[0] if ends else 0,
                    "profiling_name": f"nccl:{call.op}{ends}",
                    "time_created_ns": START + number,
                    "input_sizes": [[8]],
                    "input_dtypes": ["BFloat16"],
                    "output_sizes": [[8]],
                    "output_dtypes": ["BFloat16"],
                    "state": "completed" if over else "scheduled",
                    "time_discovered_completed_ns": START + number if over else None,
                    "retired": over,
                    "is_p2p": bool(ends),
                }
            )
        config = {n: {"name": n, "desc": self.groups[n][0], "ranks": str(list(self.groups[n][1]))} for n in names}
        status = {
            str(index): {"last_enqueued_collective": counts[n][0], "last_completed_collective": counts[n][1]}
            for index, n in enumerate(names)
        }
        return {"version": "2.9", "pg_config": config, "pg_status": status, "entries": entries[-kept:]}

    def dumps(self, dead: tuple[int, ...] = (), kept: int = 0) -> dict[int, Dump]:
        return {r: normal(f"_dump_{r}", r, self.dump(r, kept)) for r in range(self.world) if r not in dead}
