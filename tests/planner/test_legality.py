"""What a framework refuses."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.planner.errors import PlanError
from doctor.planner.job import Schedule, Sharding, Stack
from doctor.planner.legality import legal, problems
from tests.planner.support import job


@pytest.mark.parametrize(
    ("name", "gpus", "changes", "message"),
    [
        ("qwen2.5-7b", 24, {"tp": 3, "dp": 8}, "28 attention heads are not divisible by tp 3; right would be 2 or 4"),
        ("llama2-70b", 64, {"tp": 16}, "8 key-value heads are not divisible by tp 16; right would be 8"),
        ("llama2-70b", 64, {"pp": 32, "tp": 2}, "80 layers are not divisible by pp 32; right would be 20 or 40"),
        ("llama2-70b", 64, {"pp": 8, "vpp": 4, "tp": 8}, "80 layers are not divisible by pp 8 x vpp 4 = 32"),
        ("llama2-70b", 64, {"vpp": 2, "tp": 8}, "vpp 2 needs a pipeline, but pp is 1"),
        ("llama2-70b", 64, {"pp": 4, "tp": 8, "vpp": 5, "dp": 2, "global_batch": 20, "schedule": Schedule.INTERLEAVED},
         "10 micro-batches are not divisible by pp 4"),
        ("llama2-70b", 64, {"cp": 4, "seq": 4100}, "seq 4100 is not divisible by 2 x cp 4 = 8"),
        ("llama2-70b", 64, {"sp": True}, "sequence parallelism is on, but tp is 1"),
        ("mixtral-8x7b", 64, {"ep": 16}, "8 experts are not divisible by ep 16; right would be 8"),
        ("mixtral-8x7b", 64, {"ep": 8, "tp": 2}, "experts with tp 2 need sequence parallelism"),
        ("llama2-70b", 64, {"ep": 8}, "ep is 8, but llama2-70b has no experts"),
        ("llama2-70b", 64, {"pp": 4, "stack": Stack.DEEPSPEED, "sharding": Sharding.FULL}, "does not work with ZeRO-3"),
        ("llama2-70b", 64, {"pp": 4, "first": 19, "last": 20}, "leave 41, which 2 further stages cannot share evenly"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_its_values(
    name: str, gpus: int, changes: dict[str, Any], message: str
) -> None:
    assert any(message in line.en for line in problems(job(name, gpus, **changes)))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("llama2-70b", {"tp": 8, "pp": 4, "sp": True}),
        ("llama2-70b", {"tp": 4, "pp": 4, "vpp": 5, "sp": True, "schedule": Schedule.INTERLEAVED}),
        ("llama2-70b", {"pp": 4, "tp": 2, "first": 19, "last": 21}),
        ("mixtral-8x7b", {"ep": 8}),
        ("mixtral-8x7b", {"tp": 8, "pp": 2, "ep": 8, "sp": True}),  # ep 8 is more than dp 4: experts are cut anew
        ("llama2-70b", {"pp": 4, "stack": Stack.DEEPSPEED, "sharding": Sharding.OPTIMIZER}),
        ("llama2-70b", {"cp": 4, "tp": 2, "sp": True}),
    ],
)
def test_what_fits_is_left_alone(name: str, changes: dict[str, Any]) -> None:
    assert legal(job(name, 64, **changes)), problems(job(name, 64, **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tp": 8, "pp": 4, "dp": 3}, "= 96 ranks, but there are 64 GPUs"),
        ({"tp": 0, "dp": 64}, "tp is 0; it must be at least 1"),
        ({"ep": 128, "dp": 64}, "not a multiple of ep 128 x etp 1 = 128"),
        ({"global_batch": 100}, "global_batch 100 is not a multiple of micro_batch 1 x dp 64 = 64"),
        ({"micro_batch": 0}, "micro_batch is 0"),
    ],
)
def test_what_is_no_job_at_all_cannot_be_made(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        job(**changes)
