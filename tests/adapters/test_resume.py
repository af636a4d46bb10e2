"""What a change means for checkpoints and for the running job."""

from __future__ import annotations

import pytest

from doctor.adapters.registry import ADAPTERS
from doctor.adapters.resume import consequences


def said(framework: str, **changes: object) -> str:
    return " ".join(note.en for note in consequences(framework, changes))


def test_another_tensor_parallel_size_of_megatron_needs_a_reshardable_optimizer() -> None:
    assert "--dist-ckpt-optim-fully-reshardable" in said("megatron", tp=4)
    assert "convert.py" in said("megatron", pp=2)
    assert "fully-reshardable" not in said("megatron", sharding="optimizer")


def test_megatron_fsdp_has_a_format_of_its_own() -> None:
    assert "fsdp_dtensor" in said("megatron", sharding="full", tp=2)
    assert "fsdp_dtensor" not in said("megatron", sharding="optimizer")


def test_another_stage_of_zero_needs_a_universal_checkpoint() -> None:
    assert "ds_to_universal" in said("deepspeed", sharding="gradients")
    assert "ds_to_universal" not in said("deepspeed", micro_batch=1)


def test_torchtitan_loads_into_any_layout() -> None:
    assert "by itself" in said("torchtitan", tp=2)


def test_what_stays_as_it_is_asks_for_nothing() -> None:
    assert consequences("megatron", {"tp": 4}, {"tp": 4}) == ()
    assert consequences("megatron", {}) == ()


@pytest.mark.parametrize("adapter", [adapter.name for adapter in ADAPTERS])
def test_every_change_needs_a_restart_and_is_said_in_two_languages(adapter: str) -> None:
    notes = consequences(adapter, {"recompute": "full", "tp": 2, "precision": "bf16", "global_batch": 512})
    assert notes[0].knob == "restart"
    assert any(note.knob == "batch" for note in notes)
    assert all(note.en and note.zh and "\n" not in note.en for note in notes)
