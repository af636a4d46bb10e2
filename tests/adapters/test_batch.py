"""Two sides of the batch triangle and the data-parallel size fix the third."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.adapters.batch import completed
from doctor.adapters.registry import adapter_named
from tests.adapters.samples import DEEPSPEED_JSON, HF_COMMAND, MEGATRON_SCRIPT

SIDE = st.integers(1, 64)


def test_megatron_gets_a_global_batch_for_accumulation_steps() -> None:
    adapter = adapter_named("megatron")
    after = adapter.render(MEGATRON_SCRIPT, {"micro_batch": 1, "grad_accum": 8}, {"dp": 16}, "a.sh")
    assert adapter.read(after.text, "a.sh")["global_batch"].value == 128
    assert not after.left


def test_halved_micro_batch_and_doubled_steps_keep_the_global_batch_without_knowing_the_ranks() -> None:
    adapter = adapter_named("megatron")
    after = adapter.render(MEGATRON_SCRIPT, {"micro_batch": 1, "grad_accum": 32}, {"grad_accum": 16}, "a.sh")
    assert "--global-batch-size 512" in after.text
    assert "--micro-batch-size 1" in after.text


def test_steps_alone_need_the_number_of_ranks() -> None:
    note = adapter_named("megatron").render(MEGATRON_SCRIPT, {"grad_accum": 32}, path="a.sh").left[0]
    assert note.knob == "grad_accum"
    assert "data-parallel size is not known" in note.en


def test_the_trainer_gets_steps_for_a_global_batch() -> None:
    adapter = adapter_named("hf")
    after = adapter.render(HF_COMMAND, {"global_batch": 512}, {"dp": 16}, "a.sh")
    assert "--gradient_accumulation_steps=8" in after.text
    left = adapter.render(HF_COMMAND, {"global_batch": 100}, {"dp": 16}, "a.sh").left
    assert "not a multiple of micro-batch 4 x 16 ranks" in left[0].en


@given(micro=SIDE, steps=SIDE)
def test_deepspeeds_product_stays_true(micro: int, steps: int) -> None:
    after = adapter_named("deepspeed").render(
        DEEPSPEED_JSON, {"micro_batch": micro, "grad_accum": steps}, path="a.json"
    )
    values = {name: found.value for name, found in adapter_named("deepspeed").read(after.text, "a.json").items()}
    # 512 / (4 x 2) ranks
    assert values["global_batch"] == values["micro_batch"] * values["grad_accum"] * 64


@pytest.mark.parametrize("knob", ["micro_batch", "grad_accum", "precision"])
def test_auto_is_left_to_the_trainer(knob: str) -> None:
    text = json.dumps(
        {
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
            "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 2},
        }
    )
    value = "bf16" if knob == "precision" else 2
    result = adapter_named("deepspeed").render(text, {knob: value}, path="a.json")
    assert result.text == text
    assert "auto" in result.left[0].en


@given(micro=SIDE, steps=SIDE, dp=SIDE)
def test_a_full_triangle_is_never_contradicted(micro: int, steps: int, dp: int) -> None:
    whole = micro * steps * dp
    for writes in (frozenset({"micro_batch", "global_batch"}), frozenset({"micro_batch", "grad_accum"})):
        given_all = {"micro_batch": micro, "grad_accum": steps, "global_batch": whole}
        change, notes = completed(given_all, {"dp": dp}, writes)
        assert not notes
        assert change == {name: given_all[name] for name in writes}
