"""What the times mean: why a device idles, which parallelism communicates, who is waited for."""

from __future__ import annotations

import json
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from doctor.facts.derive import run_derivations
from doctor.facts.store import FactStore
from probes.files.trace import TraceFile, TraceReading, read_traces, summary_of
from probes.files.trace.roles import role_of
from probes.files.trace.summary import summarize
from tests.probes.files.trace.samples import BASE, collective, event, kernel, launch, step, trace, written

WORLD = (0, 1, 2, 3)


def store_of(folder: Path, *traces: dict[str, Any], cache: Path | None = None) -> FactStore:
    files = []
    for number, content in enumerate(traces):
        files.append(TraceFile(written(folder / f"t{number}.json", content), f"t{number}.json"))
    store = FactStore(read_traces(files, cache).facts)
    assert not run_derivations(store)
    return store


def value(store: FactStore, name: str, entity: str = "job") -> Any:
    fact = store.get(name, entity)
    return None if fact is None else fact.value


# --- idle time


def test_a_device_that_waits_for_launches_is_bound_by_the_host(tmp_path: Path) -> None:
    events = []
    for n in range(10):
        events += [launch(100.0 * n, n + 1), kernel("k", 100.0 * n + 10, 10.0, correlation=n + 1)]
    device = summarize(written(tmp_path / "t.json", trace(events)), "t").devices[0]
    assert device.idle_host == 9 * 80_000
    assert (device.idle_sync, device.idle_other) == (0, 9 * 10_000)


def test_a_gap_after_a_wait_is_the_waits(tmp_path: Path) -> None:
    events = [launch(0.0, 1), kernel("k", 10.0, 100.0, correlation=1)]
    events += [
        launch(20.0, 0, "cudaStreamSynchronize", 92.0),
        launch(150.0, 2),
        kernel("k", 160.0, 10.0, correlation=2),
    ]
    device = summarize(written(tmp_path / "t.json", trace(events)), "t").devices[0]
    assert (device.idle_host, device.idle_sync, device.idle_other) == (0, 40_000, 10_000)


def test_work_that_was_launched_long_before_idles_for_another_reason(tmp_path: Path) -> None:
    events = [launch(0.0, 1), launch(1.0, 2)]
    events += [kernel("k", 10.0, 10.0, correlation=1), kernel("k", 50.0, 10.0, correlation=2)]
    device = summarize(written(tmp_path / "t.json", trace(events)), "t").devices[0]
    assert (device.idle_host, device.idle_sync, device.idle_other) == (0, 0, 30_000)


def test_without_calls_of_the_runtime_the_reason_is_unknown(tmp_path: Path) -> None:
    device = summarize(
        written(tmp_path / "t.json", trace([kernel("k", 10.0, 1.0), kernel("k", 20.0, 1.0)])), "t"
    ).devices[0]
    assert (device.idle_host, device.idle_sync, device.idle_other) == (-1, -1, -1)


def test_waits_for_data_and_collections_of_garbage_are_counted(tmp_path: Path) -> None:
    events = [
        event("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0.0, 40.0),
        event("python_function", "<built-in method collect of module object at 0x7f>", 50.0, 20.0),
        kernel("k", 0.0, 100.0),
    ]
    store = store_of(tmp_path, trace(events))
    assert value(store, "trace.data_share", "rank:0") == pytest.approx(0.4)
    assert value(store, "trace.gc_share", "rank:0") == pytest.approx(0.2)


def test_computation_that_is_done_again_is_told_where_stacks_show_it(tmp_path: Path) -> None:
    events = [
        launch(5.0, 1),
        launch(25.0, 2),
        kernel("k", 30.0, 30.0, correlation=1),
        kernel("k", 70.0, 10.0, correlation=2),
    ]
    again = event("python_function", "torch/utils/checkpoint.py(1100): recompute_fn", 20.0, 10.0)
    assert value(store_of(tmp_path, trace([*events, again])), "trace.recompute_share", "rank:0") == pytest.approx(0.25)
    assert value(store_of(tmp_path, trace(events)), "trace.recompute_share", "rank:0") is None


# --- roles of groups


@pytest.mark.parametrize(
    ("description", "role"),
    [
        ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"),
        ("DATA_PARALLEL_GROUP_WITH_CP", "dp"),
        ("CONTEXT_PARALLEL_GROUP", "cp"),
        ("EXPERT_MODEL_PARALLEL_GROUP", "ep"),
        ("EXPERT_DATA_PARALLEL_GROUP", "dp"),
        ("EMBEDDING_GROUP", "pp"),
        ("mesh_tp", "tp"),
        ("mesh_dp_shard", "dp"),
        ("mesh_dp_shard_cp", "dp"),
        ("mesh_ep", "ep"),
        ("tp:0", "tp"),
        ("default_pg", "unknown"),
        ("undefined", "unknown"),
        ("", "unknown"),
    ],
)
def test_descriptions_tell_the_role(description: str, role: str) -> None:
    assert role_of(description) == role


def test_exposed_communication_is_told_by_role(tmp_path: Path) -> None:
    events = [
        kernel("gemm", 0.0, 100.0),
        collective("_reduce_scatter_base", 50.0, 100.0, WORLD, "DATA_PARALLEL_GROUP"),
        collective("allreduce", 200.0, 30.0, (0, 1), "TENSOR_MODEL_PARALLEL_GROUP"),
        kernel("gemm", 230.0, 70.0),
    ]
    store = store_of(tmp_path, trace(events))
    assert value(store, "trace.exposed_dp_share", "rank:0") == pytest.approx(50 / 300)
    assert value(store, "trace.exposed_tp_share", "rank:0") == pytest.approx(30 / 300)
    assert value(store, "trace.exposed_unknown_share", "rank:0") == 0.0


def test_roles_and_kernels_are_told_step_by_step(tmp_path: Path) -> None:
    events = [
        step(1, 0.0, 200.0),
        step(2, 200.0, 300.0),
        kernel("gemm", 0.0, 100.0),
        collective("allreduce", 100.0, 50.0, WORLD, "DATA_PARALLEL_GROUP"),
        kernel("gemm", 210.0, 80.0),
        kernel("norm", 300.0, 10.0),
        kernel("after", 600.0, 10.0),
    ]
    store = store_of(tmp_path, trace(events))
    assert value(store, "trace.step_exposed_dp_us", "rank:0") == (50.0, 0.0)
    rows = value(store, "trace.step_kernels", "rank:0")
    assert isinstance(rows, tuple)
    assert {"gemm=100 80", "norm=0 10", "after=0 0"} <= set(rows)


def test_sends_between_distant_ranks_are_a_pipeline_and_the_group_of_ddp_is_data_parallel(tmp_path: Path) -> None:
    sends = trace([kernel("k", 0.0, 10.0), collective("send", 20.0, 30.0, (0, 4))])
    assert value(store_of(tmp_path, sends), "trace.exposed_pp_share", "rank:0") == pytest.approx(0.6)
    wrapped = [event("user_annotation", "DistributedDataParallel.forward", 0.0, 5.0), kernel("k", 0.0, 10.0)]
    reduced = trace([*wrapped, collective("allreduce", 10.0, 10.0, WORLD)])
    assert value(store_of(tmp_path, reduced), "trace.exposed_dp_share", "rank:0") == pytest.approx(0.5)


def test_a_group_that_nothing_tells_stays_unknown(tmp_path: Path) -> None:
    store = store_of(tmp_path, trace([kernel("k", 0.0, 10.0), collective("allreduce", 10.0, 10.0, WORLD, "undefined")]))
    assert value(store, "trace.exposed_unknown_share", "rank:0") == pytest.approx(0.5)
    assert value(store, "trace.exposed_tp_share", "rank:0") is None


# --- ranks side by side


def ranks(slow: int, compute: float, host: float = 0.0, skew: float = 0.0) -> list[dict[str, Any]]:
    """Four ranks, ten all-reduces. One computes longer, or launches later; the others wait in the collective."""
    found = []
    for rank in WORLD:
        events = []
        for n in range(10):
            begin = 1000.0 * n + (host if rank == slow else 0.0)
            length = compute if rank == slow else 300.0
            arrived, latest = begin + length, 1000.0 * n + max(300.0, host + compute if host else compute)
            events += [launch(begin - 5.0, n + 1), kernel("gemm", begin, length, correlation=n + 1)]
            events.append(launch(begin - 4.0, 100 + n))
            ended = latest + 100.0
            events.append(collective("allreduce", arrived, ended - arrived, WORLD, "dp", correlation=100 + n))
        moved = [e | {"ts": e["ts"] + 10 + (skew if rank == 1 else 0.0)} for e in events]
        found.append(trace(moved, rank, 4))
    return found


def test_the_slow_rank_is_named_and_not_its_victims(tmp_path: Path) -> None:
    store = store_of(tmp_path, *ranks(slow=2, compute=600.0))
    assert value(store, "trace.straggler_reason", "rank:2") == "device"
    assert value(store, "trace.late_share", "rank:2") == 1.0
    assert value(store, "trace.late_time", "rank:2") == pytest.approx(3e-3)
    assert value(store, "trace.same_compute_ratio", "rank:2") == pytest.approx(2.0)
    assert [f.entity for f in store.every("trace.straggler_reason")] == ["rank:2"]


def test_a_late_host_is_told_from_a_slow_device(tmp_path: Path) -> None:
    store = store_of(tmp_path, *ranks(slow=1, compute=300.0, host=400.0))
    assert value(store, "trace.straggler_reason", "rank:1") == "host"
    assert value(store, "trace.same_compute_ratio", "rank:1") == pytest.approx(1.0)


def test_equal_ranks_have_no_straggler(tmp_path: Path) -> None:
    assert not [*store_of(tmp_path, *ranks(slow=0, compute=300.0)).every("trace.straggler_reason")]


def test_clocks_that_differ_change_nothing_and_are_told(tmp_path: Path) -> None:
    straight = store_of(tmp_path, *ranks(slow=2, compute=600.0))
    files = [
        TraceFile(written(tmp_path / f"s{n}.json", t), f"s{n}.json") for n, t in enumerate(ranks(2, 600.0, skew=7e4))
    ]
    reading = read_traces(files)
    store = FactStore(reading.facts)
    run_derivations(store)
    assert value(store, "trace.late_share", "rank:2") == value(straight, "trace.late_share", "rank:2")
    assert value(store, "trace.clock_offset") == pytest.approx(0.07, rel=0.01)
    assert any("clocks of the ranks differ" in text for texts in reading.remarks.values() for text in texts)


def test_bases_that_differ_are_added(tmp_path: Path) -> None:
    moved = ranks(slow=2, compute=600.0)
    for event_ in moved[3]["traceEvents"]:
        event_["ts"] += 5000.0
    moved[3]["baseTimeNanoseconds"] = BASE - 5_000_000
    assert value(store_of(tmp_path, *moved), "trace.clock_offset") is None


def test_bandwidth_counts_from_the_last_arrival(tmp_path: Path) -> None:
    """256 MiB over four ranks: the bus carries 2*(n-1)/n of them in the 2 ms of the last rank, not in 5."""
    found = []
    for rank in WORLD:
        wait = 0.0 if rank == 3 else 3000.0
        calls = [
            collective("allreduce", 1e4 * n + 3000.0 - wait, 2000.0 + wait, WORLD, "dp", 1 << 27) for n in range(6)
        ]
        found.append(trace(calls, rank, 4))
    store = store_of(tmp_path, *found)
    assert value(store, "trace.all_reduce_bus_rate") == pytest.approx((1 << 28) / 2e-3 * 1.5)
    assert value(store, "trace.bus_rate_share") == pytest.approx((1 << 28) / 2e-3 * 1.5 / 370.8e9)


def test_uneven_experts_show_in_the_sizes_of_exchanges(tmp_path: Path) -> None:
    found = []
    for rank in WORLD:
        received = 4000 if rank == 1 else 1000
        calls = [
            collective("all_to_allv", 100.0 * n, 50.0, WORLD, "EXPERT_MODEL_PARALLEL_GROUP")
            for n in range(6)
        ]  # fmt: skip
        for call in calls:
            call["args"]["Out msg nelems"] = received
        found.append(trace(calls, rank, 4))
    store = store_of(tmp_path, *found)
    assert value(store, "moe.tokens_per_rank_max_over_mean") == pytest.approx(4000 / 1750)


def test_exchanges_of_embeddings_are_no_experts(tmp_path: Path) -> None:
    found = []
    for rank in WORLD:
        call = collective("all_to_allv", 100.0, 50.0, WORLD, "undefined")
        call["args"]["Out msg nelems"] = 1000 * (rank + 1)
        found.append(trace([call], rank, 4))
    assert value(store_of(tmp_path, *found), "moe.tokens_per_rank_max_over_mean") is None


def test_utilisation_needs_the_model(tmp_path: Path) -> None:
    from doctor.facts.model import Fact

    traced = store_of(tmp_path, trace([step(1, 0.0, 1e6), kernel("k", 0.0, 1e6)]))
    assert value(traced, "trace.mfu") is None
    known = {
        "config.params": 7_000_000_000,
        "config.global_batch": 16,
        "config.seq_len": 4096,
        "config.precision": "bf16",
    }
    store = FactStore([*(fact for fact in traced.facts()), *(Fact(name, told) for name, told in known.items())])
    run_derivations(store)
    assert value(store, "trace.mfu") == pytest.approx(6 * 7e9 * 16 * 4096 / (8 * 989.4e12))


# --- several files


def test_two_compact_files_are_two_ranks(tmp_path: Path) -> None:
    store = store_of(tmp_path, trace([kernel("k", 0.0, 1.0)], 0), trace([kernel("k", 0.0, 2.0)], 1))
    assert [value(store, "trace.busy_us", f"rank:{rank}") for rank in (0, 1)] == [1.0, 2.0]


def test_of_two_files_of_one_rank_the_later_counts_and_both_are_told(tmp_path: Path) -> None:
    files = [
        TraceFile(written(tmp_path / "a.json", trace([kernel("k", 900.0, 5.0)])), "a.json"),
        TraceFile(written(tmp_path / "b.json", trace([kernel("k", 100.0, 7.0)])), "b.json"),
    ]
    reading = read_traces(files)
    assert [f.value for f in reading.facts if f.name == "trace.busy_us" and f.entity == "rank:0"] == [5.0]
    assert any("second trace of rank 0" in text for text in reading.remarks["b.json"])


def test_a_file_that_names_no_rank_is_told_under_a_free_number(tmp_path: Path) -> None:
    store = store_of(tmp_path, trace([kernel("k", 0.0, 1.0)], 0), trace([kernel("k", 0.0, 2.0)], None))
    assert value(store, "trace.busy_us", "rank:1") == 2.0


def test_the_name_of_a_file_may_tell_its_rank(tmp_path: Path) -> None:
    path = written(tmp_path / "rank-12.json", trace([kernel("k", 0.0, 1.0)], None))
    assert summarize(path, "x/rank-12.json").rank == 12


def test_files_in_several_processes_give_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [TraceFile(written(tmp_path / f"{n}.json", t), f"{n}.json") for n, t in enumerate(ranks(2, 600.0))]
    alone = read_traces(files)
    monkeypatch.setattr("probes.files.trace.SMALL", 0)
    told: list[tuple[int, int]] = []
    together = read_traces(files, progress=lambda done, total: told.append((done, total)), workers=2)
    assert together.facts == alone.facts
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_process_that_is_killed_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [TraceFile(written(tmp_path / f"{n}.json", t), f"{n}.json") for n, t in enumerate(ranks(2, 600.0))]
    alone = read_traces(files)
    monkeypatch.setattr("probes.files.trace.SMALL", 0)
    told: list[int] = []

    def kill_the_first(done: int, total: int) -> None:
        told.append(done)
        if done == 1:
            for process in active_children():
                process.kill()

    assert read_traces(files, progress=kill_the_first, workers=2).facts == alone.facts
    assert told == [1, 2, 3, 4]


def test_a_summary_is_kept_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = written(tmp_path / "t.json", trace([kernel("k", 0.0, 1.0)])), tmp_path / "cache"
    first = summary_of(path, "t.json", cache)
    assert len(list((cache / "traces").iterdir())) == 1

    def unread(*_: object) -> None:
        raise AssertionError("the file was read again")

    with monkeypatch.context() as patch:
        patch.setattr("probes.files.trace.summary.read_trace", unread)
        assert summary_of(path, "t.json", cache) == first
    written(path, trace([kernel("k", 0.0, 3.0)]))
    assert summary_of(path, "t.json", cache).devices[0].whole.busy == 3_000


def test_a_damaged_summary_and_a_folder_that_cannot_be_written_only_cost_time(tmp_path: Path) -> None:
    path, cache = written(tmp_path / "t.json", trace([kernel("k", 0.0, 1.0)])), tmp_path / "cache"
    first = summary_of(path, "t.json", cache)
    (kept,) = (cache / "traces").iterdir()
    kept.write_bytes(b"\xff" + kept.read_bytes()[:20])
    assert summary_of(path, "t.json", cache) == first
    (tmp_path / "file").write_text("")
    assert summary_of(path, "t.json", tmp_path / "file") == first


def test_a_summary_is_small(tmp_path: Path) -> None:
    events = [kernel(f"kernel_{n % 900}", 10.0 * n, 5.0) for n in range(20_000)]
    cache = tmp_path / "cache"
    summary_of(written(tmp_path / "t.json", trace(events)), "t.json", cache)
    assert sum(kept.stat().st_size for kept in (cache / "traces").iterdir()) < 64 << 10


def test_a_file_that_vanishes_costs_itself_only(tmp_path: Path) -> None:
    good = TraceFile(written(tmp_path / "t.json", trace([kernel("k", 0.0, 1.0)])), "t.json")
    reading: TraceReading = read_traces([TraceFile(tmp_path / "gone.json", "gone.json"), good])
    assert "cannot be read" in reading.remarks["gone.json"][0]
    assert any(fact.name == "trace.busy_us" for fact in reading.facts)
    json.dumps([str(fact.value) for fact in reading.facts])


def test_ranks_without_gpus_are_compared_by_the_ranges_of_gloo(tmp_path: Path) -> None:
    """Rank 2 comes last to each of eight all-reduces."""
    files = []
    for rank in range(3):
        events = [event("user_annotation", "gloo:all_reduce", 1000.0 * n, 500.0, tid=9) for n in range(8)]
        if rank == 2:
            events = [event("user_annotation", "gloo:all_reduce", 1000.0 * n + 450, 50.0, tid=9) for n in range(8)]
        events.append(event("user_annotation", "gloo:send 1->2", 8100.0, 5.0))
        files.append(written(tmp_path / f"rank{rank}.json", trace([*events, step(1, 0.0, 9000.0)], rank, 3)))
    reading = read_traces([TraceFile(path, path.name) for path in files])
    facts = {(fact.name, fact.entity): fact.value for fact in reading.facts}
    assert facts["trace.late_share", "rank:2"] == 1.0 and facts["trace.late_share", "rank:0"] == 0.0
    assert facts["trace.collectives_matched", "job"] == 8
    assert ("trace.span_us", "rank:0") not in facts
