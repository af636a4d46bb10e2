"""Settings by neutral names: what is read, what a change makes of a job, what is refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.errors import PlanError
from doctor.planner.job import Recompute, Schedule, Sharding, Stack
from doctor.planner.knobs import KNOBS, apply, assignments, difference, known, read, value
from tests.planner.support import job


def test_names_of_facts_and_of_people_are_the_same_setting() -> None:
    assert read("seq_len", "8192") == ("seq", 8192)
    assert read("zero_stage", 3) == ("zero_stage", Sharding.FULL)
    assert assignments(["tp=2", "recompute=full", "tp=4"]) == {"tp": 4, "recompute": Recompute.FULL}
    assert known("micro_batch") and not known("num_workers")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("tpp=4", "did you mean 'tp'"),
        ("tp=-1", "tp is '-1'"),
        ("tp=3.5", "tp is '3.5'"),
        ("tp=0", "at least 1"),
        ("recompute=some", "none, selective"),
        ("zero_stage=4", "0, 1, 2 or 3"),
        ("tp", "NAME=VALUE"),
        ("recompute_modules=everything", "core_attn"),
        ("tp=99999999999999999999", "at least 1"),
    ],
)
def test_nonsense_is_one_line_with_value_and_what_would_be_right(word: str, told: str) -> None:
    with pytest.raises(PlanError) as error:
        assignments([word])
    assert told.replace("'", "") in str(error.value).replace("'", "")
    assert "\n" not in str(error.value)


def test_what_other_degrees_leave_over_goes_to_data_parallelism() -> None:
    after = apply(job(tp=8, pp=4, dp=2), {"pp": 2})
    assert after.layout.dp == 4
    assert after.global_batch == 512


def test_degrees_that_do_not_divide_the_gpus_are_named() -> None:
    with pytest.raises(PlanError, match=r"tp 3 x cp 1 x pp 1 = 3 ranks do not divide the 64 GPUs"):
        apply(job(), {"tp": 3})


def test_a_smaller_micro_batch_keeps_the_global_batch_and_accumulation_alone_changes_it() -> None:
    plain = job(tp=8, pp=4, dp=2, micro_batch=2)
    assert apply(plain, {"micro_batch": 1}).global_batch == 512
    assert apply(plain, {"grad_accum": 64}).global_batch == 2 * 64 * 2
    with pytest.raises(PlanError, match="global_batch 512 is not micro_batch 2 x grad_accum 64 x dp 2"):
        apply(plain, {"grad_accum": 64, "global_batch": 512})


def test_what_has_no_sense_any_more_goes() -> None:
    chunks = job(tp=8, pp=4, vpp=5, sp=True, schedule=Schedule.INTERLEAVED)
    alone = apply(chunks, {"tp": 1, "pp": 1})
    assert not alone.layout.sp and alone.layout.vpp == 1 and alone.schedule is Schedule.ONE_F_ONE_B
    assert apply(job(tp=8, pp=4), {"vpp": 5}).schedule is Schedule.INTERLEAVED


def test_zero_3_of_megatron_is_its_fsdp() -> None:
    assert apply(job(), {"zero_stage": Sharding.FULL}).stack is Stack.MEGATRON_FSDP
    assert apply(job(), {"zero_stage": Sharding.OPTIMIZER}).stack is Stack.MEGATRON


def test_a_difference_names_what_changed_and_nothing_else() -> None:
    plain = job(tp=8, pp=4, dp=2)
    assert difference(plain, plain) == {}
    assert difference(plain, apply(plain, {"recompute": Recompute.FULL})) == {
        "recompute": (Recompute.NONE, Recompute.FULL)
    }


@given(
    st.sampled_from(sorted(KNOBS)),
    st.one_of(st.text(max_size=30), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.text())),
)
def test_no_value_gets_past_in_a_way_other_than_a_plan_error(name: str, wild: object) -> None:
    try:
        key, found = read(name, wild)
    except PlanError as error:
        assert "\n" not in str(error) or "\n" in str(wild)
    else:
        assert key in KNOBS and found is not None


@given(
    st.fixed_dictionaries(
        {}, optional={"tp": st.sampled_from((1, 2, 4, 8)), "pp": st.sampled_from((1, 2, 4)), "micro_batch": st.just(1)}
    )
)
def test_applied_settings_are_the_ones_read_back(changes: dict[str, int]) -> None:
    after = apply(job(tp=2, pp=2), changes)
    assert all(value(after, name) == wanted for name, wanted in changes.items())
    assert after.layout.world == after.cluster.gpus
