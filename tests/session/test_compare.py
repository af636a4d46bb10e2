"""Two sides as stores of facts: the verdict, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore
from doctor.session.compare import Comparison, compare
from doctor.session.sides import Found, Side

OOM = Found("MEM001", "oom", "out of memory", "fatal", True, "rank3.log:7")
SLOW = Found("PRF030", "launch-bound", "launches", "degraded", True, "")


def side(name: str = "a", *findings: Found, kinds: tuple[str, ...] = ("log",), **values: Value) -> Side:
    facts = [Fact(key.replace("__", "."), value, source=Source("log", "a.log", 3)) for key, value in values.items()]
    return Side(name, FactStore(facts), findings, frozenset(kinds))


def run(seconds: float, *findings: Found, last: int = 100, **values: Value) -> Side:
    return side("run", *findings, run__step_time_blocks=(seconds,) * 20, run__last_step=last, **values)


def rank_trace(steps: int, compute: float, exposed: float, kernel: float, **values: Value) -> Side:
    """A trace of rank 0; `compute` and `exposed` microseconds a step, the step as long as both."""
    each = compute + exposed
    own: dict[str, Value] = {
        "trace.span_us": each * max(steps, 1),
        "trace.compute_us": compute * max(steps, 1),
        "trace.exposed_comm_us": exposed * max(steps, 1),
        "trace.exposed_dp_share": exposed / each,
        "trace.top_kernels": (f"gemm={kernel * max(steps, 1) * 1e-6:g}", f"norm={1e-6 * max(steps, 1):g}"),
    }
    if steps:
        own |= {
            "trace.step_us": (each,) * steps,
            "trace.step_compute_us": (compute,) * steps,
            "trace.step_exposed_comm_us": (exposed,) * steps,
        }
    source = Source("trace", "t.json")
    facts = [Fact(name, value, "rank:0", source) for name, value in own.items()]
    facts += [Fact(key.replace("__", "."), value, source=source) for key, value in values.items()]
    return Side("trace", FactStore(facts), (), frozenset({"trace"}))


def states(comparison: Comparison) -> dict[str, str]:
    return {change.measure.name: str(change.judged.state) for change in comparison.changes}


def keys(comparison: Comparison) -> list[str]:
    return [key for key, _ in comparison.reasons]


def test_a_faster_run_is_better_a_slower_one_worse() -> None:
    assert compare(run(2.0), run(1.5)).verdict == "better"
    assert compare(run(1.5), run(2.0)).verdict == "worse"


def test_numbers_come_with_the_lines_they_were_read_from() -> None:
    change = compare(run(2.0), run(1.5)).changes[0]
    assert (change.judged.before, change.judged.after) == (2.0, 1.5)
    assert change.sources[0][0].path == "a.log" and change.sources[0][0].line == 3


def test_the_same_job_within_noise_is_no_difference() -> None:
    assert compare(run(2.0), run(1.95)).verdict == "same"


def test_a_repeat_that_agrees_closely_lets_a_small_gain_count() -> None:
    assert compare(run(2.0), run(1.95), [run(2.005)]).verdict == "better"


def test_a_repeat_of_another_job_is_left_out_and_told() -> None:
    found = compare(run(2.0, config__seq_len=4096), run(1.95, config__seq_len=4096), [run(2.0, config__seq_len=1)])
    assert found.verdict == "same"
    assert [key for key, _ in found.notes] == ["compare.no_repeat"]


def test_other_conditions_are_named_and_end_the_comparison() -> None:
    before = run(2.0, config__model="/models/llama-7b", config__seq_len=4096, config__global_batch=64)
    after = run(1.0, config__model="/other/llama-7b/", config__seq_len=2048, config__global_batch=32)
    found = compare(before, after)
    assert found.verdict == "incomparable"
    assert [difference.what for difference in found.differences] == ["seq_len", "global_batch"]


def test_models_without_names_differ_in_whole_parameters() -> None:
    (found,) = compare(run(2.0, config__params=4831838208.0), run(1.0, config__params=2415919104.0)).differences
    assert (found.what, found.before, found.after) == ("model", "4,831,838,208", "2,415,919,104")


def test_a_batch_that_the_log_itself_tells_is_a_condition() -> None:
    found = compare(run(2.0, run__global_batch=64), run(1.0, run__global_batch=32))
    assert found.verdict == "incomparable"


def test_a_failure_that_is_gone_once_the_run_went_further_is_better_even_if_slower() -> None:
    found = compare(run(2.0, OOM, last=40), run(2.4, last=90))
    assert (found.verdict, [f.state for f in found.findings]) == ("better", ["gone"])


def test_a_failure_is_not_gone_while_the_run_has_not_got_as_far() -> None:
    found = compare(run(2.0, OOM, last=40), run(2.0, last=20))
    assert (found.verdict, [f.why for f in found.findings]) == ("same", ["ended"])


def test_a_finding_is_not_gone_where_its_files_are_missing() -> None:
    before = side("a", SLOW, kinds=("log", "trace"))
    assert [f.state for f in compare(before, side("b")).findings] == ["untold"]


def test_a_new_failure_is_worse_whatever_the_speed() -> None:
    assert compare(run(2.0), run(1.0, OOM)).verdict == "worse"


def test_a_failure_that_is_still_there_is_no_gain() -> None:
    found = compare(run(2.0, OOM), run(1.0, OOM))
    assert (found.verdict, keys(found)) == ("same", ["compare.reason.still"])


def test_memory_decides_where_the_speed_is_the_same() -> None:
    found = compare(run(2.0, run__memory_max=70 << 30), run(2.0, run__memory_max=40 << 30))
    assert found.verdict == "better"


def test_parts_of_traced_steps_are_judged_by_step_and_kernels_listed() -> None:
    found = compare(rank_trace(6, 800.0, 400.0, 500.0), rank_trace(6, 800.0, 100.0, 300.0))
    assert found.verdict == "better"
    assert states(found) == {
        "trace_step": "better",
        "compute": "same",
        "exposed": "better",
        "exposed_dp": "single",
    }
    assert [kernel.name for kernel in found.kernels] == ["gemm"]
    assert round(found.kernels[0].before * 1e6) == 500 and round(found.kernels[0].after * 1e6) == 300


def stepped(gemm: Sequence[float], dp: float, tp: float = 0.0) -> Side:
    """A trace whose kernels and roles are told step by step."""
    plain = rank_trace(len(gemm), 800.0, dp + tp, sum(gemm) / len(gemm))
    roles = {"dp": dp, "tp": tp}
    source = Source("trace", "t.json")
    facts = [fact for fact in plain.store.facts() if fact.name != "trace.exposed_dp_share"]
    for role, each in roles.items():
        if each:
            facts.append(Fact(f"trace.exposed_{role}_share", each / (800.0 + dp + tp), "rank:0", source))
            facts.append(Fact(f"trace.step_exposed_{role}_us", (each,) * len(gemm), "rank:0", source))
    rows = ("gemm=" + " ".join(f"{time:g}" for time in gemm), "norm=" + " ".join("1" for _ in gemm))
    facts.append(Fact("trace.step_kernels", rows, "rank:0", source))
    return Side("trace", FactStore(facts), (), frozenset({"trace"}))


def test_roles_of_communication_are_judged_by_step() -> None:
    found = states(compare(stepped([500.0] * 6, dp=400.0), stepped([500.0] * 6, dp=100.0, tp=60.0)))
    assert (found["exposed_dp"], found["exposed_tp"]) == ("better", "worse")
    few = states(compare(stepped([500.0] * 3, dp=400.0), stepped([500.0] * 3, dp=100.0)))
    assert few["exposed_dp"] == "few"


def test_kernels_are_judged_by_step() -> None:
    def state(after: Sequence[float]) -> str | None:
        found = compare(stepped([500.0] * 6, dp=100.0), stepped(after, dp=100.0)).kernels
        return str(found[0].judged.state) if found and found[0].judged else None

    assert state([300.0] * 6) == "better"
    assert state([700.0, 710.0, 690.0, 700.0, 705.0, 700.0]) == "worse"
    assert state([300.0, 900.0, 300.0, 900.0, 880.0, 900.0]) == "unclear"
    assert state([300.0] * 3) == "few"
    assert state([505.0] * 6) is None


def test_three_traced_steps_are_too_few() -> None:
    found = compare(rank_trace(3, 800.0, 400.0, 500.0), rank_trace(3, 800.0, 100.0, 500.0))
    assert (found.verdict, keys(found)) == ("same", ["compare.reason.few"])


def test_traces_without_steps_are_compared_by_shares_and_not_judged() -> None:
    found = compare(rank_trace(0, 800.0, 400.0, 500.0), rank_trace(0, 800.0, 100.0, 500.0))
    assert found.shared and found.verdict == "same"
    assert set(states(found).values()) == {"single"}
    assert round(found.changes[1].judged.before, 3) == 0.333


def test_sides_that_say_nothing_tell_no_difference() -> None:
    found = compare(side("a"), side("b"))
    assert (found.verdict, keys(found)) == ("same", ["compare.reason.nothing"])
