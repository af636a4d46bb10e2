"""What is used beside tensors."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.job import Recompute, Sharding, Stack
from doctor.planner.memory.overhead import CHURN, CONTEXT, TP_STREAMS, context, reserve_factor
from tests.planner.support import job


def test_each_group_has_a_communicator() -> None:
    alone, many = (context(plan)[1] for plan in (job(gpus=1), job(gpus=8, tp=2, pp=2)))
    assert alone == CONTEXT
    assert many > alone


def test_eager_fsdp_with_tensor_parallelism_reserves_most() -> None:
    compiled = job(gpus=8, stack=Stack.FSDP, sharding=Sharding.FULL, compile=True)
    eager = job(gpus=8, tp=2, stack=Stack.FSDP, sharding=Sharding.FULL)
    assert reserve_factor(eager)[1] / reserve_factor(compiled)[1] == CHURN * TP_STREAMS


@given(stack=st.sampled_from(list(Stack)), compiled=st.booleans(), recompute=st.sampled_from(list(Recompute)))
def test_the_usual_lies_in_its_range(stack: Stack, compiled: bool, recompute: Recompute) -> None:
    low, usual, high = reserve_factor(job(gpus=8, stack=stack, compile=compiled, recompute=recompute))
    assert 1 < low < usual < high
