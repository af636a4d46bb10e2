"""The model against memory that others measured and published."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.planner.errors import PlanError
from doctor.planner.families import families, model
from doctor.planner.hardware import gpu, node_of
from doctor.planner.job import Job, Loss, Recompute, Schedule, Sharding, Stack
from doctor.planner.layout import Layout
from doctor.planner.memory.breakdown import memory
from doctor.planner.shape import Norm, Shape
from tests.planner.support import job, replace

GIB = 2**30


def shortened(name: str, layers: int) -> Shape:
    """A model with fewer layers, of which the first is dense where it is a mixture."""
    shape = model(name)
    return replace(shape, layers=layers, moe=replace(shape.moe, dense_layers=1) if shape.moe else None)


@pytest.mark.parametrize(
    ("name", "layers", "seq", "degrees", "measured"),
    [
        ("llama3-70b", 12, 4096, {"pp": 2}, (66.55, 62.97)),
        ("llama3-70b", 12, 4096, {"tp": 2}, (60.68,)),
        ("llama3-70b", 12, 4096, {"tp": 8}, (28.29,)),
        ("llama3-70b", 12, 131072, {"cp": 8}, (147.99,)),
        ("llama3-405b", 4, 4096, {"pp": 2}, (86.61, 87.08)),
        ("llama3-405b", 4, 4096, {"tp": 4}, (52.89,)),
        ("deepseek-v2", 4, 4096, {"ep": 4, "pp": 2}, (31.58, 44.70)),
        ("deepseek-v3", 4, 4096, {"ep": 8}, (104.30,)),
        ("deepseek-v3", 4, 4096, {"ep": 4, "pp": 2}, (71.24, 114.00)),
    ],
)
def test_megatron_on_eight_b200(
    name: str, layers: int, seq: int, degrees: dict[str, int], measured: tuple[float, ...]
) -> None:
    """Allocated GiB of every stage: MooreThreads/SimuMax, docs/b200/b200_release_v1.2_summary.json."""
    plan = job(
        shape=shortened(name, layers), cluster=node_of(gpu("B200"), 8), gpus=8, seq=seq, global_batch=64,
        sp=degrees.get("tp", 1) > 1, sharding=Sharding.OPTIMIZER, loss=Loss.FUSED, **degrees,
    )  # fmt: skip
    assert [stage.allocated / GIB for stage in memory(plan)] == pytest.approx(measured, rel=0.03)


def test_an_interleaved_pipeline_with_unfused_gradients() -> None:
    """Last of four stages: NVIDIA/Megatron-LM, functional test gpt3_7b_tp1_pp4_memory_speed, A100."""
    shape = Shape(
        name="gpt", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=16384, vocab=131073,
        gated=False, bias=True, norm=Norm.LAYER,
    )  # fmt: skip
    plan = job(
        shape=shape, gpus=8, pp=4, vpp=8, seq=8192, global_batch=8, dropout=True, fused_grads=False,
        sharding=Sharding.OPTIMIZER, schedule=Schedule.INTERLEAVED,
    )  # fmt: skip
    assert memory(plan)[-1].allocated / GIB == pytest.approx(56.33, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({"gpus": 8, "micro_batch": 2, "recompute": Recompute.OPERATORS}, 76.8),
        ({"gpus": 128, "micro_batch": 2, "recompute": Recompute.OPERATORS}, 62.0),
        ({"gpus": 8, "cp": 4, "seq": 131072, "recompute": Recompute.FULL}, 84.0),
    ],
)
def test_fsdp_of_torchtitan(changes: dict[str, Any], measured: float) -> None:
    """Reserved GiB of Llama 3 8B, compiled: pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md."""
    fields = {
        "seq": 8192,
        "stack": Stack.FSDP,
        "sharding": Sharding.FULL,
        "loss": Loss.EAGER,
        "compile": True,
        **changes,
    }
    ranks = fields["gpus"] // fields.get("cp", 1)
    plan = job("llama3-8b", global_batch=ranks * fields.get("micro_batch", 1), **fields)
    assert memory(plan)[0].reserved / GIB == pytest.approx(measured, rel=0.12)


POWERS = st.sampled_from([1, 2, 4, 8, 16])


@settings(max_examples=150, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(families())), stack=st.sampled_from(list(Stack)))
def test_every_job_that_can_be_described_has_its_memory(data: st.DataObject, name: str, stack: Stack) -> None:
    tp, cp, pp, dp, ep, etp, vpp = (data.draw(POWERS) for _ in range(7))
    try:
        plan = Job(
            shape=model(name),
            cluster=node_of(gpu("H100"), tp * cp * pp * dp),
            layout=Layout(tp=tp, cp=cp, pp=pp, dp=dp, ep=ep, etp=etp, vpp=vpp, sp=data.draw(st.booleans())),
            seq=data.draw(st.sampled_from([1, 4096, 2**20])),
            micro_batch=data.draw(st.integers(1, 4)),
            global_batch=data.draw(st.integers(1, 64)) * dp * 12,
            stack=stack,
            sharding=data.draw(st.sampled_from(list(Sharding))),
            schedule=data.draw(st.sampled_from(list(Schedule))),
            recompute=data.draw(st.sampled_from(list(Recompute))),
            recompute_modules=frozenset(("mlp", "moe", "unheard_of")),
            loss=data.draw(st.sampled_from(list(Loss))),
            lora_rank=data.draw(st.sampled_from([0, 16])),
            offload_optimizer=data.draw(st.booleans()),
        )
        stages = memory(plan)
    except PlanError as error:
        assert str(error)
        return
    assert len(stages) == pp
    for stage in stages:
        parts = [
            getattr(stage, part)
            for part in ("parameters", "gradients", "optimizer", "activations", "working", "logits", "buffers")
        ]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(stage.allocated)
        assert 0 < stage.low <= stage.device <= stage.high
