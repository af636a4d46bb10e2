"""The search: what is legal and fits, what is shown of it, and that it claims no more than the models can tell."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.planner.errors import PlanError
from doctor.planner.families import model
from doctor.planner.frameworks import framework, start
from doctor.planner.job import Job, Recompute, Sharding
from doctor.planner.legality import legal
from doctor.planner.memory.breakdown import memory
from doctor.planner.pareto import Candidate, chosen, front, shortlist, tied, to_measure
from doctor.planner.peak import least, peak
from doctor.planner.search import Found, judge, search
from doctor.planner.space import layouts
from tests.planner.support import cluster, job, replace


def found(name: str, gpus: int = 64, batch: int = 512, chosen_framework: str = "megatron", **fixed: Any) -> Found:
    plan = framework(chosen_framework)
    return search(start(plan, model(name), cluster(gpus), 4096, batch), plan, fixed)


@pytest.mark.parametrize("name", ["llama2-70b", "mixtral-8x7b", "deepseek-v2-lite"])
def test_every_candidate_is_legal_and_may_fit(name: str) -> None:
    for candidate in found(name).front:
        assert legal(candidate.job)
        assert min(stage.low for stage in memory(candidate.job)) <= candidate.job.cluster.gpu.memory
        assert candidate.low <= candidate.likely <= candidate.high
        assert candidate.job.global_batch == 512


@pytest.mark.parametrize("name", ["llama2-70b", "mixtral-8x7b", "deepseek-v2-lite"])
def test_the_fullest_stage_of_a_candidate_is_that_of_the_whole_model(name: str) -> None:
    for candidate in found(name).front:
        assert candidate.peak == pytest.approx(max(stage.high for stage in memory(candidate.job)))


@pytest.mark.parametrize("name", ["llama2-70b", "mixtral-8x7b"])
def test_counts_of_chunks_that_are_skipped_hold_nothing_notably_faster(name: str) -> None:
    fastest = min(candidate.likely for candidate in found(name).front if candidate.fits)
    for vpp in (2, 4, 5, 8, 10):
        try:
            others = found(name, vpp=vpp).front
        except PlanError:  # no layout has so many chunks
            continue
        assert all(candidate.likely >= fastest * 0.98 for candidate in others if candidate.fits)


def test_the_bound_by_which_layouts_are_left_out_is_below_what_they_take() -> None:
    plan = framework("megatron")
    for name in ("llama2-70b", "qwen3-30b-a3b"):
        base = start(plan, model(name), cluster(64), 4096, 512)
        for layout in layouts(base, plan, {}):
            one = replace(base, layout=layout, sharding=Sharding.OPTIMIZER)
            assert least(one) <= peak(one).high


def test_fixed_settings_stay_in_all_candidates() -> None:
    held = found("llama2-70b", tp=8, micro_batch=1, recompute=Recompute.FULL).front
    assert {(c.job.layout.tp, c.job.micro_batch, c.job.recompute) for c in held} == {(8, 1, Recompute.FULL)}
    assert {c.job.micro_batches for c in found("llama2-70b", grad_accum=64).front} == {64}


def test_a_model_that_fits_nowhere_has_no_candidates_and_says_how_many_were_looked_at() -> None:
    result = found("llama3-405b", gpus=8, batch=8)
    assert not result.best and result.considered and result.too_big == result.considered


@pytest.mark.parametrize(
    ("fixed", "told"),
    [
        ({"tp": 16}, "8 key-value heads are not divisible by tp 16; right would be 8"),
        ({"tp": 3}, "3 ranks do not divide the 64 GPUs; right would be 2 or 4 ranks"),
        ({"pp": 32}, "80 layers are not divisible by pp 32"),
        ({"ep": 2}, "has no experts"),
    ],
)
def test_settings_that_no_layout_can_have_are_named(fixed: dict[str, Any], told: str) -> None:
    with pytest.raises(PlanError) as error:
        found("llama2-70b", **fixed)
    assert told in str(error.value)


def test_recomputation_is_taken_where_memory_asks_for_it_alone() -> None:
    assert {c.job.recompute for c in found("llama2-70b", tp=8, pp=4, vpp=1, micro_batch=1).front} == {Recompute.NONE}
    fsdp = found("llama2-70b", chosen_framework="fsdp").front
    assert {c.job.recompute for c in fsdp} == {Recompute.FULL}


def candidate(likely: float, peak_gib: float, tp: int = 8, **changes: Any) -> Candidate:
    one: Job = job(tp=tp, pp=4, dp=64 // (4 * tp))
    plain = judge(one)
    gib = 2.0**30
    fields = {
        "low": 0.9 * likely,
        "likely": likely,
        "high": 1.1 * likely,
        "peak": peak_gib * gib,
        "usual": peak_gib * gib,
    }
    return replace(plain, risks=(), **{**fields, **changes})


def test_a_candidate_that_another_beats_in_everything_is_left_out() -> None:
    fast, roomy, worse = candidate(10, 70), candidate(12, 40), candidate(13, 60)
    assert front([worse, roomy, fast]) == [fast, roomy]


def test_overlapping_ranges_are_a_tie_and_what_may_not_fit_is_not_chosen() -> None:
    hope, best, rival, slow = candidate(9, 90, tp=2), candidate(10, 70), candidate(11, 60, tp=4), candidate(20, 30)
    ordered = [hope, best, rival, slow]
    assert chosen(ordered) is best
    assert tied(ordered) == (best, rival)
    assert to_measure(ordered) == (best, rival)
    assert to_measure([best, slow]) == ()
    assert hope in shortlist(ordered, 4)


def test_where_nothing_fits_for_certain_the_roomiest_is_chosen() -> None:
    tight, worse = candidate(12, 81), candidate(10, 88)
    assert chosen([worse, tight]) is tight
    assert chosen([]) is None


def test_the_nearest_to_today_is_among_those_shown() -> None:
    today = job(tp=8, pp=4, dp=2, sp=True, sharding=Sharding.OPTIMIZER)
    plan = framework("megatron")
    result = search(today, plan, today=today)
    assert min(c.distance for c in result.best) == min(c.distance for c in tied(result.front))
