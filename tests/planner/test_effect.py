"""Remedies' patches as the planner sees them, alone and together."""

from __future__ import annotations

import pytest

from doctor.planner.compose import compose
from doctor.planner.effect import effect
from doctor.planner.errors import PlanError
from tests.planner.support import job


def test_half_the_micro_batch_needs_less_memory_and_keeps_the_global_batch() -> None:
    found = effect(job(tp=8, pp=4, dp=2, micro_batch=2), {"micro_batch": 1, "grad_accum": 256})
    assert found is not None
    assert found.after.fullest.device < found.before.fullest.device
    assert not found.batch_changes and not found.reshards
    assert found.changes["micro_batch"] == (2, 1)


def test_more_accumulation_alone_changes_the_global_batch_and_says_so() -> None:
    found = effect(job(tp=8, pp=4, dp=2), {"grad_accum": 1024})
    assert found is not None and found.batch_changes


def test_another_cut_of_the_states_needs_resharded_checkpoints() -> None:
    found = effect(job(tp=8, pp=4, dp=2), {"tp": 4})
    assert found is not None and found.reshards


def test_a_patch_of_settings_that_the_models_do_not_know_has_no_effect_to_show() -> None:
    assert effect(job(), {"num_workers": 4}) is None
    assert effect(job(), {"micro_batch": None}) is None
    assert effect(job(micro_batch=1), {"micro_batch": 1}) is None


def test_a_result_that_the_framework_refuses_is_an_error_with_its_values() -> None:
    with pytest.raises(PlanError, match="8 key-value heads are not divisible by tp 16"):
        effect(job(gpus=64), {"tp": 16})


def test_zero_3_shrinks_the_states_and_full_recomputation_the_activations() -> None:
    plain = job("llama3-8b", gpus=8, micro_batch=1, global_batch=64)
    sharded = effect(plain, {"zero_stage": 1})
    recomputed = effect(plain, {"recompute": "full"})
    assert sharded and sharded.after.fullest.optimizer < sharded.before.fullest.optimizer
    assert recomputed and recomputed.after.fullest.activations < recomputed.before.fullest.activations
    assert recomputed.speed and recomputed.speed > 1


def test_remedies_that_set_one_thing_differently_are_not_both_taken() -> None:
    plan = compose(job(tp=8, pp=4, dp=2), [("a", {"tp": 4}), ("b", {"tp": 2, "recompute": "full"}), ("c", {"vpp": 5})])
    assert plan is not None
    assert plan.taken == ("a", "c")
    assert [(each.name, each.knob, each.against) for each in plan.rejected] == [("b", "tp", "a")]
    assert plan.effect.after.job.layout.tp == 4 and plan.effect.after.job.layout.vpp == 5


def test_remedies_that_agree_are_both_taken() -> None:
    plan = compose(job(tp=8, pp=4, dp=2), [("a", {"recompute": "full"}), ("b", {"recompute": "full", "tp": 4})])
    assert plan is not None and plan.taken == ("a", "b") and not plan.rejected


def test_a_remedy_that_makes_the_job_illegal_is_left_out_with_the_reason() -> None:
    plan = compose(job(tp=8, pp=4, dp=2), [("a", {"pp": 3}), ("b", {"recompute": "full"})])
    assert plan is not None and plan.taken == ("b",)
    why = plan.rejected[0].why
    assert why and "do not divide the 64 GPUs" in why.en and "不能整除 64 个 GPU" in why.zh


def test_a_smaller_micro_batch_composes_with_another_layout_at_the_same_global_batch() -> None:
    plain = job(tp=8, pp=4, dp=2, micro_batch=2)
    plan = compose(plain, [("a", {"micro_batch": 1, "grad_accum": 256}), ("b", {"tp": 4})])
    assert plan is not None and plan.taken == ("a", "b")
    assert plan.effect.after.job.global_batch == plain.global_batch
    assert compose(plain, [("a", {"num_workers": 1})]) is None
