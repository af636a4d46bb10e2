"""A training job on a GPU that is replaced: `leaking.py FOLDER`. It keeps some memory of each step, and logs as torchtitan
does; pdoctor's recorder is in it."""

from __future__ import annotations

import sys
import time

import torch

from doctor import recorder
from tests.probes.files.memory_snapshot.snapshots import GIB, MIB
from tests.recorder.gpu import Gpu, install

CARD = 64 * GIB
FORWARD = (("/venv/torch/nn/modules/linear.py", "forward"), ("/work/train.py", "step"))
KEPT = (("/work/metrics.py", "update"), ("/work/train.py", "step"))


def main(folder: str) -> None:
    torch.set_num_threads(1)
    gpu = install(Gpu(reserved=CARD))
    gpu.alloc(20 * GIB)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder.attach(model, optimizer, folder)
    for step in range(1, 100_000):
        activations = [gpu.alloc(256 * MIB, FORWARD) for _ in range(8)]
        gpu.alloc(32 * MIB, KEPT)
        most = gpu.used
        for address in activations:
            gpu.free(address)
        model(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        print(
            f"[rank0]:2026-01-02 03:04:05,678 - root - INFO - step: {step:4d}  loss: {2 + 1 / step:7.4f}  "
            f"memory: {most / GIB:5.2f}GiB({100 * most / CARD:.2f}%)  tps: 7,000  mfu: 40.00%",
            flush=True,
        )
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1])
