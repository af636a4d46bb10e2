"""What an uneven load costs a step: only where the time of experts was measured."""

from __future__ import annotations

import pytest

from doctor.facts.derive import expert_cost
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore


def told(facts: list[Fact], events: list[Event] | None = None) -> dict[str, Value]:
    return {fact.name: fact.value for fact in expert_cost.derive(FactStore(facts, events or []))}


def traced(rank: int, *kernels: str, span: float = 1e6) -> list[Fact]:
    return [
        Fact("trace.span_us", span, f"rank:{rank}"),
        Fact("trace.top_kernels", kernels, f"rank:{rank}"),
    ]


def timers(forward: float, moe: float, first: float = 40.0, second: float = 40.0) -> Event:
    fields = {"forward_ms": forward, "moe_ms": moe, "first_ms": first, "second_ms": second}
    return Event("deepspeed.moe_timers", Source("log", "a.log", 1), fields)


EXCESS = Fact("experts.ep_excess", 0.5)


def test_the_cost_is_the_share_of_experts_times_what_the_busiest_rank_has_too_much() -> None:
    ranks = [*traced(0, "grouped_gemm_kernel=0.3", "norm=0.1"), *traced(1, "cutlass::GroupProblemShape<x>=0.1")]
    found = told([EXCESS, *ranks])
    assert found["experts.compute_share"] == pytest.approx(0.2)
    assert found["experts.step_cost"] == pytest.approx(0.1)


def test_timers_of_deepspeed_tell_it_without_the_exchange_and_the_optimizer() -> None:
    lines = [timers(800.0, 480.0), timers(800.0, 480.0)]
    assert told([EXCESS], lines)["experts.step_cost"] == pytest.approx(0.5 * 0.5)
    optimizer = Fact("run.optimizer_share", 0.2)
    assert told([EXCESS, optimizer], lines)["experts.step_cost"] == pytest.approx(0.5 * 0.5 * 0.8)


def test_exchanges_of_a_trace_give_the_load_where_no_tokens_were_counted() -> None:
    facts = [Fact("trace.all_to_all_max_over_mean", 1.4), *traced(0, "fused_moe_kernel=0.5")]
    assert "experts.step_cost" not in told(facts)
    assert told([*facts, Fact("trace.comm_ep_time", 0.1, "rank:0")])["experts.step_cost"] == pytest.approx(0.2)


def test_without_a_measurement_the_cost_is_unknown() -> None:
    assert not told([EXCESS])
    assert not told([EXCESS, *traced(0, "ampere_bf16_gemm=0.3", "bad", "grouped_gemm=x")])
    assert not told([EXCESS], [timers(100.0, 480.0), timers(0.0, 0.0)])
