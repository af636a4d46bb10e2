"""A small training job over gloo, one rank of which goes wrong: `torchrun --nproc-per-node 4 job.py HOW STEP`.

It logs as plain loops do. HOW is what rank 2 does at STEP; `fine` for nothing.
"""

from __future__ import annotations

import datetime
import os
import signal
import sys
import time


def main(how: str, at: int, steps: int, timeout: float) -> None:
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout))
    weights = torch.ones(1000)
    kept = []
    held = 0
    for step in range(1, steps + 1):
        begun = time.perf_counter()
        if rank == 2 and step >= at:
            if how == "raise" and step == at:
                raise ValueError("token id 50257 is out of range of the vocabulary")
            if how == "kill" and step == at:
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "loader" and step == at:
                next_batch()
            if how == "collective" and step == at:
                dist.all_gather([torch.empty(1000) for _ in range(4)], weights)
            if how == "slow":
                time.sleep(0.4)
            if how == "leak":
                kept.append(torch.ones(2 << 20))
                held += 8
        waited = time.perf_counter()
        time.sleep(0.05)
        computed = time.perf_counter()
        dist.all_reduce(weights)
        weights /= 4
        took = time.perf_counter() - begun
        now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        print(
            f"[rank{rank}]: {now} - INFO - iteration {step:8d}/{steps:8d} | elapsed time per iteration (ms): {took * 1e3:.1f} | "
            f"data time (ms): {(waited - begun) * 1e3:.1f} | forward-backward time (ms): {(computed - waited) * 1e3:.1f} | "
            f"lm loss: {2 + 1 / step:.6E} | step={step} (rss={rss() >> 20} MiB) |",
            flush=True,
        )
    dist.destroy_process_group()


def rss() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def next_batch() -> None:
    """A data loader that waits for a worker which never answers."""
    time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
