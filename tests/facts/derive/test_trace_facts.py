"""What is derived from the facts of traces."""

from __future__ import annotations

import pytest

from doctor.facts.derive import trace_bubble, trace_mfu, trace_rates, trace_stragglers, trace_tokens
from doctor.facts.model import Fact, Value
from doctor.facts.store import FactStore


def store(**facts: Value) -> FactStore:
    """Facts of the job, or of rank N where the name ends in `__N`; `_` of the first part stands for a dot."""
    found = []
    for key, value in facts.items():
        name, _, rank = key.partition("__")
        found.append(Fact(name.replace("_", ".", 1), value, f"rank:{rank}" if rank else "job"))
    return FactStore(found)


def told(module: object, known: FactStore) -> dict[str, Value]:
    return {fact.name: fact.value for fact in module.derive(known)}  # type: ignore[attr-defined]


def test_the_bubble_is_what_stages_wait_and_its_excess_what_no_schedule_asks_for() -> None:
    waits = store(trace_exposed_pp_share__0=0.3, trace_exposed_pp_share__1=0.2, layout_bubble_share=0.1)
    assert told(trace_bubble, waits) == {
        "trace.bubble_share": pytest.approx(0.25),
        "trace.bubble_excess": pytest.approx(0.15),
    }


def test_without_a_layout_the_bubble_has_no_excess_and_without_a_pipeline_there_is_none() -> None:
    assert "trace.bubble_excess" not in told(trace_bubble, store(trace_exposed_pp_share__0=0.3))
    assert not told(trace_bubble, store(layout_bubble_share=0.1))


def test_the_stage_that_computes_most_is_named_only_where_the_others_wait_for_it() -> None:
    waits = {"trace_exposed_pp_share__0": 0.4, "trace_exposed_pp_share__1": 0.4, "trace_exposed_pp_share__2": 0.1}
    work = {"trace_compute_us__0": 90.0, "trace_compute_us__1": 90.0, "trace_compute_us__2": 180.0}
    found = [fact for fact in trace_bubble.derive(store(**waits, **work)) if fact.entity == "rank:2"]
    assert [(fact.name, fact.value) for fact in found] == [("trace.stage_compute_over_mean", pytest.approx(1.5))]
    waits["trace_exposed_pp_share__2"] = 0.35
    assert "trace.stage_compute_over_mean" not in told(trace_bubble, store(**waits, **work))


@pytest.mark.parametrize(
    ("card", "world", "share"),
    [("NVIDIA H100 80GB HBM3", 8, 0.5), ("NVIDIA H100 PCIe", 8, None), ("NVIDIA H100 80GB HBM3", 16, None)],
)
def test_rates_are_compared_within_a_node_with_nvlink(card: str, world: int, share: float | None) -> None:
    known = store(trace_all_reduce_bus_rate=185.4e9, trace_device_name__0=card, trace_world_size=world)
    assert told(trace_rates, known).get("trace.bus_rate_share") == (share if share is None else pytest.approx(share))


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"trace_same_compute_ratio__1": 1.3}, "device"),
        (
            {"trace_same_compute_ratio__1": 1.01, "trace_idle_host_share__1": 0.4, "trace_idle_host_share__0": 0.1},
            "host",
        ),
        ({"trace_data_share__1": 0.3, "trace_data_share__0": 0.01, "trace_idle_host_share__1": 0.4}, "data"),
        ({"trace_compute_us__1": 900.0, "trace_compute_us__0": 600.0}, "more_work"),
        ({}, "unknown"),
    ],
)
def test_a_late_rank_has_its_reason(facts: dict[str, Value], reason: str) -> None:
    assert told(trace_stragglers, store(trace_late_share__1=0.9, **facts)) == {"trace.straggler_reason": reason}


def test_a_rank_that_is_late_at_times_is_no_straggler() -> None:
    assert not told(trace_stragglers, store(trace_late_share__1=0.4, trace_same_compute_ratio__1=1.3))


def test_utilisation_is_not_told_of_experts_or_adapters() -> None:
    known: dict[str, Value] = {
        "trace_step_time": 1.0, "trace_world_size": 8, "trace_device_name__0": "NVIDIA H100 80GB HBM3",
        "config_params": 7e9, "config_global_batch": 16, "config_seq_len": 4096, "config_precision": "bf16",
    }  # fmt: skip
    assert told(trace_mfu, store(**known))
    assert not told(trace_mfu, store(**known, config_num_experts=64))
    assert not told(trace_mfu, store(**known, config_lora=True))


def test_exchanged_sizes_are_tokens_of_experts_only_in_a_mixture() -> None:
    assert not told(trace_tokens, store(trace_all_to_all_max_over_mean=3.0))
    assert told(trace_tokens, store(trace_all_to_all_max_over_mean=3.0, config_num_experts=64))


def test_a_rank_that_is_seldom_last_is_waited_for_when_nearly_all_waiting_is_for_it() -> None:
    known = {
        "trace_late_share__0": 0.34,
        "trace_late_time__0": 2.9,
        "trace_late_time_share__0": 0.6,
        "trace_late_share__1": 0.1,
        "trace_late_time__1": 0.02,
        "trace_late_time_share__1": 0.004,
    }
    assert told(trace_stragglers, store(**known)) == {"trace.straggler_reason": "unknown"}
    assert not told(trace_stragglers, store(**known | {"trace_late_time__1": 1.5}))
    assert not told(trace_stragglers, store(**known | {"trace_late_time_share__0": 0.05}))


def test_a_rank_that_is_always_last_by_next_to_nothing_is_no_straggler() -> None:
    cheap = store(trace_late_share__0=0.9, trace_late_time__0=0.001, trace_late_time_share__0=0.01)
    assert not told(trace_stragglers, cheap)
    dear = store(trace_late_share__0=0.9, trace_late_time_share__0=0.2, trace_gc_share__0=0.3, trace_gc_share__1=0.0)
    assert told(trace_stragglers, dear) == {"trace.straggler_reason": "gc"}
