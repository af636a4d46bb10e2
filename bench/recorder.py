"""What the recorder costs a job: pairs of steps with and without it, in one run of two data-parallel ranks on the CPU.

The same model is trained with the recorder's hooks at work and at rest, in turns of a few steps each, so that what else
runs on the machine meets both alike. The cost is told three times: as the difference of the medians of a step by the
clock and by processor time, and, since the noise of a shared machine is larger than that, as the share of a step that
the recorder's own code takes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any

RANKS, TURNS, STEPS, WARM_UP = 2, 60, 5, 3
WIDTH, LAYERS, BATCH = 384, 6, 64


def main() -> None:
    python = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")
    if not python:
        print("recorder: not measured, torch is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PDOCTOR_RECORD": folder, "PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}
        command = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS), __file__]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    told = [line for line in done.stdout.splitlines() if line.startswith("recorder")]
    print("\n".join(told) if told else f"recorder: not measured: {done.stderr.strip()[-300:]}")


def rank() -> None:
    """One rank: turns with the recorder on and off, and the time within its own code."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    from doctor import recorder
    from doctor.recorder.recorder import Recorder

    spent = _timed(Recorder)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    layers = [part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(TensorDataset(torch.randn(BATCH * 10_000 // 100, WIDTH)), batch_size=BATCH)
    batches = _forever(loader)
    recorder.attach(model, optimizer)
    one = recorder._current
    assert one is not None
    times: dict[bool, list[float]] = {True: [], False: []}
    work: dict[bool, list[float]] = {True: [], False: []}
    own: list[float] = []
    for turn in range(2 * TURNS):
        one.on = turn % 2 == 0
        for step in range(STEPS):
            spent[0] = 0.0
            begin, worked = perf_counter(), process_time()
            (batch,) = next(batches)
            model(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            taken, worked = perf_counter() - begin, process_time() - worked
            if turn >= WARM_UP and step:
                times[one.on].append(taken)
                work[one.on].append(worked)
                own += [spent[0] / taken] if one.on else []
    one.on = True
    if dist.get_rank() == 0:
        print(f"recorder, {RANKS} ranks, {len(times[True])} steps each: {_pair(times)} by the clock")
        print(f"recorder, processor time: {_pair(work)}")
        print(f"recorder, its own code: {statistics.median(own):.2%} of a step")
    dist.destroy_process_group()


def _pair(by: dict[bool, list[float]]) -> str:
    on, off = (statistics.median(by[state]) for state in (True, False))
    return f"{off * 1e3:.2f} ms a step without, {on * 1e3:.2f} ms with it ({on / off - 1:+.2%})"


def _forever(loader: Any) -> Any:
    while True:
        yield from loader


def _timed(kind: Any) -> list[float]:
    """Counts the time within the recorder's outermost calls."""
    spent, depth = [0.0], [0]

    def around(own: Any) -> Any:
        def call(*given: Any) -> Any:
            depth[0] += 1
            begin = perf_counter()
            try:
                return own(*given)
            finally:
                depth[0] -= 1
                if not depth[0]:
                    spent[0] += perf_counter() - begin

        return call

    for name in ("safely", "_wait_begins", "_wait_ends"):
        setattr(kind, name, around(getattr(kind, name)))
    return spent


if __name__ == "__main__":
    rank()
