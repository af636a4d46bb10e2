"""The memory model against PyTorch itself: FSDP2, tensor parallelism and checkpointing run on fake tensors."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.planner.hardware import gpu, node_of
from doctor.planner.job import Job, Loss, Recompute, Sharding, Stack
from doctor.planner.layout import Layout
from doctor.planner.memory.breakdown import memory
from doctor.planner.memory.buffers import WORKSPACE
from doctor.planner.shape import Shape

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: pip install 'pdoctor[oracle]'", allow_module_level=True)

LLAMA3_8B = {"hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 14336, "vocab": 128256}
LLAMA2_7B = {"hidden": 4096, "heads": 32, "kv_heads": 32, "head_dim": 128, "ffn": 11008, "vocab": 32000}
LLAMA3_70B = {"hidden": 8192, "heads": 64, "kv_heads": 8, "head_dim": 128, "ffn": 28672, "vocab": 128256}
QWEN3_4B = {"hidden": 2560, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 9728, "vocab": 151936}

# Where the loss is the peak, where a gathered block is, and where the ends of the model are.
CASES: dict[str, dict[str, Any]] = {
    "8b": {"sizes": LLAMA3_8B, "seq": 8192, "batch": 1, "dp": 8, "tp": 1, "recompute": "none"},
    "8b-tp8-operators": {"sizes": LLAMA3_8B, "seq": 8192, "batch": 2, "dp": 64, "tp": 8, "recompute": "operators"},
    "7b-operators": {"sizes": LLAMA2_7B, "seq": 4096, "batch": 4, "dp": 16, "tp": 1, "recompute": "operators"},
    "7b-full": {"sizes": LLAMA2_7B, "seq": 4096, "batch": 1, "dp": 8, "tp": 1, "recompute": "full"},
    "7b-short": {"sizes": LLAMA2_7B, "seq": 512, "batch": 1, "dp": 64, "tp": 1, "recompute": "none"},
    "4b-tp2": {"sizes": QWEN3_4B, "seq": 4096, "batch": 2, "dp": 4, "tp": 2, "recompute": "none"},
    "70b-tp8-full": {"sizes": LLAMA3_70B, "seq": 4096, "batch": 1, "dp": 8, "tp": 8, "recompute": "full"},
    "70b-full": {"sizes": LLAMA3_70B, "seq": 2048, "batch": 1, "dp": 64, "tp": 1, "recompute": "full"},
}
DEPTHS = (2, 4)  # memory is linear in depth from there on


@pytest.fixture(scope="module")
def peaks() -> dict[tuple[str, int], int]:
    """Peaks of all cases from one process of its own: PyTorch is imported once, its fake process group stays outside."""
    keys = [(name, depth) for name in CASES for depth in DEPTHS]
    jobs = [{**CASES[name], "sizes": {**CASES[name]["sizes"], "layers": depth}} for name, depth in keys]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("peak.py")), json.dumps(jobs)],
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(keys, (int(line) for line in done.stdout.splitlines()), strict=True))


def predicted(sizes: dict[str, int], seq: int, batch: int, dp: int, tp: int, recompute: str, layers: int) -> float:
    job = Job(
        shape=Shape(name="model", layers=layers, **sizes),
        cluster=node_of(gpu("H100"), dp * tp, min(8, dp * tp)),
        layout=Layout(dp=dp, tp=tp, sp=tp > 1),
        seq=seq,
        micro_batch=batch,
        global_batch=batch * dp,
        stack=Stack.FSDP,
        sharding=Sharding.FULL,
        loss=Loss.EAGER,
        recompute=Recompute(recompute),
    )
    return memory(job)[0].allocated - WORKSPACE  # there is no cuBLAS behind fake tensors


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", list(CASES))
def test_the_model_agrees_with_pytorch(name: str, depth: int, peaks: dict[tuple[str, int], int]) -> None:
    assert predicted(**CASES[name], layers=depth) == pytest.approx(peaks[name, depth], rel=0.05)


@pytest.mark.parametrize("name", ["8b", "8b-tp8-operators", "7b-operators", "4b-tp2"])
def test_a_further_layer_costs_what_it_costs_in_pytorch(name: str, peaks: dict[tuple[str, int], int]) -> None:
    real = peaks[name, 4] - peaks[name, 2]
    model = predicted(**CASES[name], layers=4) - predicted(**CASES[name], layers=2)
    assert model == pytest.approx(real, rel=0.01)
