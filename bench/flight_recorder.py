"""How long the analysis of flight recorder dumps takes: 1,024 ranks of 2,000 calls; one never comes to the last."""

from __future__ import annotations

import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RANKS, CALLS, PER_NODE, EXPERTS = 1024, 2000, 8, 64
STUCK = 517
START = 1_760_000_000_000_000_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder))
        size = sum(path.stat().st_size for path in paths)
        before, start = _processor_seconds(), time.perf_counter()
        command = [sys.executable, "-m", "doctor", "analyze", folder, "--json"]
        told = subprocess.run(command, capture_output=True, check=False)  # it ends with 1 where it finds something
        took, used = time.perf_counter() - start, _processor_seconds() - before
    roots = [found for found in json.loads(told.stdout)["findings"] if found["role"] == "root"]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"pdoctor analyze of {RANKS} flight recorder dumps of {CALLS} calls, {size / 2**20:.0f} MiB: {took:.1f} s,")
    print(f"processor time {used:.1f} s, {used / RANKS:.3f} s a file; at most {peak:.0f} MiB in a process")
    print("; ".join(f"{found['rule']} {', '.join(found['entities'])}" for found in roots))


def _processor_seconds() -> float:
    """What all children that have ended used, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write(folder: Path) -> list[Path]:
    """Files a rank: tensor-parallel groups of a node, expert-parallel groups of 64 ranks, all data-parallel."""
    paths = []
    for rank in range(RANKS):
        path = folder / f"nccl_trace_rank_{rank}"
        path.write_bytes(pickle.dumps(dump(rank), 2))
        paths.append(path)
    return paths


def dump(rank: int) -> dict[str, Any]:
    groups = {
        "0": ("default_pg", range(RANKS)),
        f"1{rank // PER_NODE}": ("tp", _block(rank, PER_NODE)),
        f"2{rank // EXPERTS}": ("ep", _block(rank, EXPERTS)),
    }
    plan = [("all_gather_base", 1), ("all_to_all", 2), ("all_to_all", 2), ("reduce_scatter_base", 1)] * (CALLS // 4)
    plan[99::100] = [("all_reduce", 0)] * len(plan[99::100])
    names, counts = list(groups), [0, 0, 0]
    entries = []
    for number, (op, group) in enumerate(plan[: CALLS - (rank == STUCK)]):
        counts[group] += 1
        over = number < CALLS - 1
        created = START + number * 10**6
        rows = 4096 + (number * 7 + rank) % 200 if op == "all_to_all" else 4096
        entries.append(
            {
                "frames": [dict(frame) for frame in FRAMES],
                "record_id": number,
                "pg_id": group,
                "process_group": (names[group], groups[names[group]][0]),
                "collective_seq_id": counts[group],
                "p2p_seq_id": 0,
                "op_id": counts[group],
                "profiling_name": f"nccl:{op}",
                "time_created_ns": created,
                "input_sizes": [[4096, 5120]],
                "input_dtypes": ["BFloat16"],
                "output_sizes": [[rows, 5120]],
                "output_dtypes": ["BFloat16"],
                "state": "completed" if over else "scheduled",
                "time_discovered_started_ns": created + 10 if over else None,
                "time_discovered_completed_ns": created + 20 if over else None,
                "retired": over,
                "timeout_ms": 600000,
                "is_p2p": False,
            }
        )
    config = {name: {"name": name, "desc": desc, "ranks": str(list(ranks))} for name, (desc, ranks) in groups.items()}
    return {"version": "2.9", "pg_config": config, "pg_status": {}, "nccl_version": "2.27.3", "entries": entries}


def _block(rank: int, size: int) -> range:
    return range(rank // size * size, rank // size * size + size)


FRAMES = (
    *({"name": f"torch_{n}", "filename": "/venv/torch/distributed/distributed_c10d.py", "line": n} for n in range(3)),
    *({"name": f"layer_{n}", "filename": "/work/model/layers.py", "line": 100 + n} for n in range(7)),
)

if __name__ == "__main__":
    main()
