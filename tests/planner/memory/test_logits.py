"""Logits and loss."""

from __future__ import annotations

import pytest

from doctor.planner.job import Loss, Precision, Stack
from doctor.planner.memory.logits import logits_bytes
from tests.planner.support import job


@pytest.mark.parametrize(
    ("loss", "expected"), [(Loss.EAGER, 12), (Loss.VOCAB_PARALLEL, 6), (Loss.FUSED, 4), (Loss.CHUNKED, 1.5)]
)
def test_each_loss_has_its_bytes_a_logit(loss: Loss, expected: float) -> None:
    plan = job("llama3-8b", gpus=8, stack=Stack.FSDP, loss=loss)
    assert logits_bytes(plan, 8192) == expected * 8192 * 128256


def test_tensor_parallelism_cuts_the_padded_vocabulary() -> None:
    plan = job("gpt2", gpus=8, tp=4)
    assert logits_bytes(plan, 65536) == 6 * 65536 * 50688 / 4


def test_a_wide_head_weighs_more_than_few_tokens() -> None:
    """Its gradient of 16 bit beside the logits' own, where 6 B a logit are less."""
    plan = job("llama3-405b", gpus=8, fused_grads=False)
    assert logits_bytes(plan, 4096) == 2 * 128256 * (4096 + 16384)


def test_fp32_logits_are_worked_on_in_place() -> None:
    """No copy; at the end their gradient lies beside the head's."""
    plan = job("gpt2", gpus=8, precision=Precision.FP32, fused_grads=False)
    assert logits_bytes(plan, 65536) == 4 * 50304 * (65536 + 768)
