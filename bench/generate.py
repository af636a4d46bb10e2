"""Logs of a made-up 256-rank job: mostly healthy lines, a progress line each step, one rank that runs out of memory.

The same seed gives the same bytes on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

RANKS = 256
PER_NODE = 8

HEALTHY = (
    "[{time}] [INFO] [data_loader.py:{n}:next_batch] shard {n} of 4096 opened, {n} documents, {n} tokens carried over",
    "{time} | INFO | trainer.hooks | saved the metrics of interval {n} to /data/run/metrics/part-{n}.jsonl",
    "[{time}] [DEBUG] [optimizer.py:{n}:step] gradient clipping: {n} parameters, norm within bounds, scale unchanged",
    "{time} INFO [worker {n}] prefetch queue holds {n} batches, mean wait {n} us, decode {n} us",
    "INFO:root:tokenizer cache hit ratio 0.{n} over the last {n} requests",
    "[{time}] [INFO] [timers.py:{n}:log] allreduce bucket {n}: {n} elements, overlap with backward as planned",
)


def job(folder: Path, total: int, seed: int = 0, ranks: int = RANKS) -> list[Path]:
    """Write `ranks` logs of together about `total` bytes; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank in range(ranks):
        path = folder / f"node{rank // PER_NODE}" / f"rank_{rank}.log"
        path.parent.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            size = 0
            for block in blocks(rank, ranks, random.Random(seed * 1_000_003 + rank)):
                if size >= total // ranks:
                    break
                size += file.write(block)
            file.write(ending(rank))
        paths.append(path)
    return paths


def blocks(rank: int, ranks: int, rng: random.Random) -> Iterator[str]:
    """The start of the job, then one step after another: some ten healthy lines and one of progress."""
    host = f"node{rank // PER_NODE}"
    local = rank % PER_NODE
    nccl = f"{host}:{4000 + local}:{4000 + local} [{local}] NCCL INFO"
    yield f"{nccl} Bootstrap : Using eth0:10.0.0.{rank // PER_NODE}<0>\n{nccl} Using network IB\n"
    yield f"{nccl} comm 0x5581{rank:08x} rank {rank} nranks {ranks} cudaDev {local} busId {local}0 - Init COMPLETE\n"
    step = 0
    while True:
        step += 1
        minutes, second = divmod(15 * 3600 + step * 3, 60)
        clock = f"{minutes // 60 % 24:02d}:{minutes % 60:02d}:{second:02d}"
        stamp = f"2024-09-03 {clock},{rng.randrange(1000):03d}"
        lines = [
            rng.choice(HEALTHY).format(time=stamp, n=rng.randrange(10, 100_000)) for _ in range(rng.randrange(8, 13))
        ]
        lines.append(
            f" [{stamp[:19]}] iteration {step:8d}/  120000 | consumed samples: {step * 512:12d} | elapsed time per "
            f"iteration (ms): {rng.gauss(3000, 40):.1f} | throughput per GPU (TFLOP/s/GPU): {rng.gauss(390, 4):.1f} | "
            f"learning rate: 3.000E-04 | global batch size:   512 | lm loss: {2 + 8 / step:.6E} | loss scale: 1.0 | "
            f"grad norm: {rng.gauss(0.5, 0.05):.3f} | number of skipped iterations:   0 | "
            "number of nan iterations:   0 |"
        )
        yield "\n".join(lines) + "\n"


def ending(rank: int) -> str:
    """Rank 3 runs out of memory; the others wait for it in vain."""
    if rank == 3:
        return (
            f"[rank{rank}]: Traceback (most recent call last):\n"
            f'[rank{rank}]:   File "/work/train.py", line 88, in step\n[rank{rank}]:     loss.backward()\n'
            f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a "
            "total capacity of 79.11 GiB of which 1.20 GiB is free. Of the allocated memory 60.00 GiB is allocated by "
            "PyTorch, and 16.00 GiB is reserved by PyTorch but unallocated.\n"
        )
    return (
        f"[rank{rank}]:[E903 20:10:00.5 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=9000, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
        "Timeout(ms)=600000) ran for 600012 milliseconds "
        "before timing out.\n"
    )
