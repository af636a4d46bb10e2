"""Dumps as PyTorch writes them, of a small job that a test describes call by call."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probes.files.flight_recorder.model import Dump
from probes.files.flight_recorder.normal import normal
from probes.files.flight_recorder.verdict import Verdict, verdict
from probes.files.flight_recorder.world import World

START = 1_760_000_000_000_000_000
SECOND = 10**9


@dataclass
class Job:
    """`groups` maps a name to (description, ranks); `backend` decides how a finished call looks."""

    groups: Mapping[str, tuple[str, Sequence[int]]]
    backend: str = "nccl"
    version: str = "2.9"
    entries: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    counts: dict[tuple[int, str, bool], int] = field(default_factory=dict)

    def call(
        self,
        ranks: Iterable[int],
        op: str,
        group: str,
        sizes: Sequence[Sequence[int]] = ((4, 8),),
        out: Sequence[Sequence[int]] | None = None,
        done: bool = True,
        dtype: str = "Float",
        state: str = "scheduled",
        line: int = 10,
        at: int = 0,
        retired: bool = False,
    ) -> None:
        """Each of `ranks` makes the call; `op` may be "send 0->1" in ranks of the group. `at` is seconds from the start."""
        gloo = self.backend == "gloo"
        p2p = op.startswith(("send", "recv"))
        for rank in ranks:
            own = self.entries.setdefault(rank, [])
            key = (rank, group, p2p)
            self.counts[key] = self.counts.get(key, 0) + 1
            other = self.counts.get((rank, group, not p2p), 0)
            created = START + at * SECOND + len(own) * 1000
            finished = done and not gloo
            own.append(
                {
                    "frames": [
                        {"name": op, "filename": "/venv/torch/distributed/distributed_c10d.py", "line": 3245},
                        {"name": "wrapper", "filename": "/venv/torch/distributed/c10d_logger.py", "line": 83},
                        {"name": "step", "filename": "/work/train.py", "line": line},
                    ],
                    "record_id": len(own) + 1000 * rank,
                    "pg_id": list(self.groups).index(group),
                    "process_group": (group, self.groups[group][0]),
                    "collective_seq_id": other if p2p else self.counts[key],
                    "p2p_seq_id": 0 if gloo else self.counts[key] if p2p else other,
                    "op_id": self.counts[key] + other,
                    "profiling_name": f"{self.backend}:{op}",
                    "time_created_ns": created,
                    "input_sizes": [list(size) for size in sizes],
                    "input_dtypes": [dtype] * len(sizes),
                    "output_sizes": [list(size) for size in (sizes if out is None else out)],
                    "output_dtypes": [dtype],
                    "state": "completed" if finished else state,
                    "time_discovered_started_ns": created + 10 if finished else None,
                    "time_discovered_completed_ns": created + 20 if finished else None,
                    "retired": done or retired,
                    "timeout_ms": 600000,
                    "is_p2p": p2p,
                }
            )

    def document(self, rank: int) -> dict[str, Any]:
        used = [name for name, (_, ranks) in self.groups.items() if rank in ranks]
        config = {
            n: {"name": n, "desc": self.groups[n][0], "ranks": str(list(self.groups[n][1]))} for n in sorted(used)
        }
        if self.backend == "gloo":
            config = {"": {"name": "", "desc": "", "ranks": "[]"}}
        entries = self.entries.get(rank, [])
        return {"version": self.version, "pg_config": config, "pg_status": {}, "entries": entries}

    def write(
        self, folder: Path, name: str = "nccl_trace_rank_", as_json: bool = False, leave_out: Iterable[int] = ()
    ) -> Path:
        """Writes a file a rank, but for those in `leave_out`."""
        folder.mkdir(parents=True, exist_ok=True)
        for rank in self.entries:
            if rank not in set(leave_out):
                document = self.document(rank)
                if as_json:
                    (folder / f"{name}{rank}.json").write_text(json.dumps(plain(document)))
                else:
                    (folder / f"{name}{rank}").write_bytes(pickle.dumps(document, protocol=2))
        return folder

    def dumps(self, leave_out: Iterable[int] = ()) -> dict[int, Dump]:
        return {r: normal(f"rank_{r}", r, self.document(r)) for r in self.entries if r not in set(leave_out)}

    def judge(self, leave_out: Iterable[int] = ()) -> Verdict:
        return verdict(World(self.dumps(leave_out)))


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """The document as PyTorch's JSON has it: no stacks, 0 for no time, counts as text, keys sorted."""
    entries = [
        {
            k: 0 if v is None else list(v) if isinstance(v, tuple) else v
            for k, v in sorted(entry.items())
            if k != "frames"
        }
        for entry in document["entries"]
    ]
    status = {key: {k: str(v) for k, v in counts.items()} for key, counts in document["pg_status"].items()}
    return {**dict(sorted(document.items())), "entries": entries, "pg_status": status}


def world(ranks: int = 4, backend: str = "nccl") -> Job:
    """A job of `ranks` ranks with pairs as tensor-parallel groups, which has made three rounds of all-reduces."""
    groups: dict[str, tuple[str, Sequence[int]]] = {"0": ("default_pg", range(ranks))}
    for pair in range(ranks // 2):
        groups[str(pair + 1)] = ("tp", (2 * pair, 2 * pair + 1))
    job = Job(groups, backend, "2.10" if backend == "gloo" else "2.9")
    for _ in range(3):
        job.call(range(ranks), "all_reduce", "0")
        for pair in range(ranks // 2):
            job.call((2 * pair, 2 * pair + 1), "all_reduce", str(pair + 1))
    return job


def unrecorded(job: Job, ranks: Iterable[int], group: str = "0") -> None:
    """Each of `ranks` makes a send or receive over Gloo, which only the count of the group tells."""
    for rank in ranks:
        key = (rank, group, True)
        job.counts[key] = job.counts.get(key, 0) + 1
