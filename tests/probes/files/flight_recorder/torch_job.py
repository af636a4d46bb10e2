"""Four processes of PyTorch over Gloo that make a few collectives, go wrong as they are told, and dump what they recorded.

Run as `python torch_job.py SCENARIO RANK STORE FOLDER`; STORE is a file that all processes meet at. Each makes a file
`begun_RANK` in FOLDER before it goes wrong, dumps when there is a file `dump`, and ends when there is one called `leave`:
peers see a process that ends, and would dump something else.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

WORLD = 4


def main(scenario: str, rank: int, store: str, folder: Path) -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", f"file://{store}", timedelta(seconds=600), WORLD, rank)
    pairs = [dist.new_group([0, 1], group_desc="tp"), dist.new_group([2, 3], group_desc="tp")]
    x = torch.ones(4, 8)
    for _ in range(2):
        dist.all_reduce(x)
        dist.all_reduce(x, group=pairs[rank // 2])
    threading.Thread(target=dump, args=(rank, folder), daemon=True).start()
    (folder / f"begun_{rank}").touch()
    with suppress(RuntimeError):
        go_wrong(scenario, rank, x, pairs)
    time.sleep(600)


def go_wrong(scenario: str, rank: int, x: object, pairs: list[object]) -> None:
    import torch
    import torch.distributed as dist

    if scenario == "absent" and rank != 2:
        dist.all_reduce(x)
    elif scenario == "pair" and rank == 2:
        dist.all_reduce(x, group=pairs[1])
    elif scenario == "type":
        dist.broadcast(x, 0) if rank == 3 else dist.all_reduce(x)
    elif scenario == "size":
        dist.all_reduce(torch.ones(4, 2) if rank == 1 else x)
    elif scenario == "order" and rank == 0:
        dist.all_reduce(x, group=pairs[0])
    elif scenario in ("order", "ok"):
        dist.all_reduce(x)
    elif scenario == "skipped":
        dist.all_reduce(x)
        if rank != 3:
            dist.all_reduce(x, group=pairs[rank // 2])
        dist.all_reduce(x)
    elif scenario == "stage":
        for time_ in range(2):
            if time_ and rank == 2:
                return
            if rank > 0:
                dist.recv(x, rank - 1)
            if rank < WORLD - 1:
                dist.send(x, rank + 1)
            dist.all_reduce(x, group=pairs[rank // 2])
            dist.all_reduce(x)


def dump(rank: int, folder: Path) -> None:
    from torch._C import _distributed_c10d as c10d

    wait_for(folder / "dump")
    (folder / f"comm_lib_trace_rank_{rank}").write_bytes(c10d._dump_fr_trace(True, True, False))
    text = c10d._dump_fr_trace_json(True, False)
    (folder / f"fr_rank_{rank}.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / f"dumped_{rank}").touch()
    wait_for(folder / "leave")
    os._exit(0)


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
