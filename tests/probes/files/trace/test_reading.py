"""Reading: whatever the year, the layout and the damage, the times are exact or it is said that they are not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from probes.files.trace import is_trace
from probes.files.trace.model import Summary
from probes.files.trace.skip import Skipping
from probes.files.trace.summary import summarize
from tests.probes.files.trace.samples import collective, event, kernel, launch, step, trace, written

EVENTS = [
    event("cpu_op", "aten::mm", 1000.0, 40.0),
    launch(1010.0, 1),
    kernel("gemm", 1100.0, 50.25, correlation=1),
    kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1125.5, 60.0, stream=20),
    event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1200.125, 10.0, 0, 7, device=0, stream=7),
]


def read(path: Path) -> Summary:
    return summarize(path, path.name)


def told(summary: Summary) -> str:
    return "\n".join(summary.remarks)


@pytest.mark.parametrize("how", [{}, {"separators": (",", ":")}, {"indent": 2}, {"sort_keys": True}])
@pytest.mark.parametrize("large", [False, True])
def test_every_layout_gives_the_same_nanoseconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], large: bool
) -> None:
    monkeypatch.setattr(Skipping, "SMALL", 0 if large else 1 << 30)
    (device,) = read(written(tmp_path / "t.json", trace(EVENTS), **how)).devices
    whole = device.whole
    assert (whole.span, whole.busy, whole.idle) == (110_125, 95_500, 14_625)
    assert (whole.compute, whole.comm, whole.overlap) == (50_250, 60_000, 24_750)
    assert (whole.exposed_comm, whole.exposed_memory) == (35_250, 10_000)


def test_small_blocks_cut_between_events_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.files.trace.split.BLOCK", 1 << 10)
    monkeypatch.setattr("probes.files.stream.CHUNK", 1 << 9)
    nested = [event("cpu_op", "odd", 1.0, 1.0, list=[{"ph": "X", "a": "}, {"}, {"ph": 1}, {"name": "x"}])]
    many = [kernel(f"k{n % 7}", 1000.0 + 10 * n, 5.0) for n in range(500)]
    for how in ({}, {"indent": 1}):
        summary = read(written(tmp_path / "t.json", trace([*nested, *many, *nested]), **how))
        assert summary.devices[0].kernels == 500
        assert summary.devices[0].whole.busy == 500 * 5_000


def test_thousandths_of_a_microsecond_are_exact_far_from_the_base(tmp_path: Path) -> None:
    """Eighty days after the base, as kineto's clock has it."""
    events = [kernel("a", 4458676524670.502, 0.001), kernel("b", 4458676524670.504, 0.003)]
    whole = read(written(tmp_path / "t.json", trace(events))).devices[0].whole
    assert (whole.span, whole.busy) == (5, 4)


def test_doubles_since_the_epoch_are_read_as_printed_and_told(tmp_path: Path) -> None:
    text = json.dumps(trace([kernel("a", 111.0, 0.5), kernel("b", 222.0, 0.5)], baseTimeNanoseconds=None))
    text = text.replace("111.0", "1712345678901234.1").replace("222.0", "1712345678901235.4")
    (tmp_path / "t.json").write_text(text)
    summary = read(tmp_path / "t.json")
    assert summary.devices[0].whole.span == 1_800
    assert "quarter of a microsecond" in told(summary)


def test_whole_microseconds_since_the_epoch_are_told(tmp_path: Path) -> None:
    content = trace([kernel("a", 1_682_725_898_082_228, 10), kernel("b", 1_682_725_898_082_240, 3)])
    del content["baseTimeNanoseconds"]
    summary = read(written(tmp_path / "t.json", content))
    assert summary.devices[0].whole.busy == 13_000
    assert "whole microseconds" in told(summary)


def test_a_trace_of_2021_is_read(tmp_path: Path) -> None:
    args = {"device": 0, "stream": 7, "correlation": 5, "external id": 9}
    events = [
        {"ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": 100, "dur": 10, "args": args},
        {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7", "ts": 120, "dur": 5,
         "args": args},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 3, "tid": "3", "ts": 90, "dur": 2,
         "args": {"correlation": 5}},
    ]  # fmt: skip
    summary = read(written(tmp_path / "t.json", {"traceEvents": events}))
    assert (summary.devices[0].whole.compute, summary.devices[0].whole.exposed_memory) == (10_000, 5_000)
    assert summary.launches == 1


def test_numbers_in_quotes_are_numbers(tmp_path: Path) -> None:
    entry = kernel("gemm", 0, 0) | {"ts": "100.250", "dur": "1.500"}
    assert read(written(tmp_path / "t.json", trace([entry]))).devices[0].whole.busy == 1_500


def test_operators_with_a_stream_and_annotations_on_a_device_are_no_work(tmp_path: Path) -> None:
    """Triton's operators say a stream and a grid, and annotations are drawn on the tracks of the device."""
    events = [
        kernel("triton_fused", 100.0, 10.0),
        event("cpu_op", "triton_fused", 50.0, 94.0, stream=7, grid="(1,)"),
        event("gpu_user_annotation", "ProfilerStep#1", 0.0, 500.0, 0, 7, stream=7),
    ]
    assert read(written(tmp_path / "t.json", trace(events))).devices[0].whole.span == 10_000


def test_the_last_step_counts_and_a_step_drawn_twice_counts_once(tmp_path: Path) -> None:
    events = [step(1, 0.0, 100.0), step(2, 100.0, 100.0), step(2, 100.0, 100.0), kernel("a", 10.0, 40.0)]
    events += [kernel("b", 120.0, 30.0), event("gpu_user_annotation", "ProfilerStep#2", 110.0, 80.0, 0, 7)]
    summary = read(written(tmp_path / "t.json", trace(events)))
    assert summary.step_times == (100_000, 100_000)
    assert [part.compute for part in summary.devices[0].steps] == [40_000, 30_000]


def test_each_device_of_a_file_is_told(tmp_path: Path) -> None:
    summary = read(written(tmp_path / "t.json", trace([kernel("a", 1.0, 2.0), kernel("a", 1.0, 7.0, device=3)])))
    assert [(device.index, device.whole.busy) for device in summary.devices] == [(0, 2_000), (3, 7_000)]


def test_the_header_may_stand_behind_the_events(tmp_path: Path) -> None:
    content = trace(EVENTS)
    behind = {"traceEvents": content["traceEvents"], **content}
    summary = read(written(tmp_path / "t.json", behind | {"distributedInfo": {"rank": 5, "world_size": 8}}))
    assert (summary.rank, summary.devices[0].name) == (5, "NVIDIA H100 80GB HBM3")


def test_the_bare_array_of_the_old_profiler_is_read(tmp_path: Path) -> None:
    assert read(written(tmp_path / "t.json", EVENTS)).devices[0].whole.busy == 95_500


# --- damage


def test_a_missing_end_is_told_and_what_is_there_counts(tmp_path: Path) -> None:
    text = json.dumps(trace(EVENTS))
    (tmp_path / "t.json").write_text(text[: text.rindex("]")])
    summary = read(tmp_path / "t.json")
    assert summary.devices[0].whole.busy == 95_500
    assert "cut off" in told(summary)


def test_a_truncated_archive_gives_its_beginning_and_says_so(tmp_path: Path) -> None:
    many = [kernel(f"k{n * n % 997}", 1000.0 + 10 * n, 5.0) for n in range(5000)]
    packed = gzip.compress(json.dumps(trace(many)).encode())
    (tmp_path / "t.json.gz").write_bytes(packed[: len(packed) // 2])
    summary = read(tmp_path / "t.json.gz")
    assert 0 < summary.devices[0].kernels < 5000
    assert "cut off" in told(summary) and "damaged" in told(summary)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('"aten::mm"', '"{"device": "cpu"}(12): run"'),
        ('"aten::mm"', '"C:\\Users\\x\\model.py(3): forward"'),
        ('"aten::mm"', '"a\x01b"'),
        ('"dur": 40.0', '"dur": inf'),
        ('"dur": 40.0', '"dur": N/A'),
    ],
)
def test_text_that_json_forbids_is_mended_and_told(tmp_path: Path, good: str, bad: str) -> None:
    text = json.dumps(trace(EVENTS))
    assert good in text
    (tmp_path / "t.json").write_text(text.replace(good, bad))
    summary = read(tmp_path / "t.json")
    assert summary.devices[0].whole.busy == 95_500
    assert "JSON forbids" in told(summary)


def test_names_that_are_not_utf8_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(json.dumps(trace(EVENTS)).encode().replace(b"aten::mm", b"aten::\xff\xfe"))
    assert read(tmp_path / "t.json").devices[0].whole.busy == 95_500


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (kernel("k", 1150.0, -5.0), "negative duration"),
        (kernel("k", 0, 0), "time 0"),
        (kernel("k", 1150.0, 1e13), "longer than the whole recording"),
        (kernel("k", 1e300, 5.0), "time 0"),
        (kernel("k", 1e13, 5.0), "a day away"),
    ],
)
def test_kernels_that_cannot_be_are_left_out_and_told(tmp_path: Path, bad: dict[str, Any], words: str) -> None:
    summary = read(written(tmp_path / "t.json", trace([*EVENTS, bad])))
    assert (summary.devices[0].whole.span, summary.devices[0].whole.busy) == (110_125, 95_500)
    assert words in told(summary)


def test_overlapping_kernels_of_one_stream_count_once(tmp_path: Path) -> None:
    events = [kernel("a", 100.0, 50.0), kernel("b", 120.0, 50.0), kernel("c", 100.0, 10.0)]
    assert read(written(tmp_path / "t.json", trace(events))).devices[0].whole.busy == 70_000


def test_early_kernels_that_the_profiler_dropped_are_told(tmp_path: Path) -> None:
    calls = [launch(100.0 + n, n + 1) for n in range(100)]
    kept = [kernel("a", 1000.0 + n, 0.5, correlation=n + 1) for n in range(60, 100)]
    assert "dropped the early ones" in told(read(written(tmp_path / "t.json", trace([*calls, *kept]))))
    every = [kernel("a", 1000.0 + n, 0.5, correlation=n + 1) for n in range(100)]
    assert "dropped" not in told(read(written(tmp_path / "t.json", trace([*calls, *every]))))


def test_odd_fields_cost_their_event_only(tmp_path: Path) -> None:
    odd: list[Any] = [
        kernel("a", 1150.0, 1.0) | {"ts": None},
        kernel("a", 1150.0, 1.0) | {"args": None},
        kernel("a", 1150.0, 1.0) | {"name": None, "pid": 1.5},
        {"ph": "X"},
        {"no": "phase"},
        7,
        kernel("a", 1150.0, 1.0, correlation=2**64 + 5),
    ]
    summary = read(written(tmp_path / "t.json", trace([*EVENTS, *odd])))
    assert summary.devices[0].whole.busy == 95_500


@pytest.mark.parametrize(
    "text", ["", "{", "[", '{"traceEvents": [', '{"traceEvents": []}', '{"traceEvents": [[[[', "[1, 2"]
)
def test_a_file_without_events_gives_no_numbers(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text)
    summary = read(tmp_path / "t.json")
    assert not summary.devices and summary.remarks


def test_a_file_of_nothing_but_damage_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.files.trace.read.MOST_UNREADABLE", 100)
    monkeypatch.setattr("probes.files.trace.split.BLOCK", 1 << 12)
    bad = '{"ph": "X", "cat": "kernel", "name": "k" "ts": 1, "dur": 1},\n'
    (tmp_path / "t.json").write_text('{"traceEvents": [' + bad * 20_000 + json.dumps(kernel("good", 5.0, 1.0)) + "]}")
    summary = read(tmp_path / "t.json")
    assert "20000 events are damaged" in told(summary) and not summary.readable


def test_deep_nesting_ends(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"traceEvents": [' + '{"args":' * 20_000)
    assert not read(tmp_path / "t.json").devices


# --- what a file is


def test_traces_are_told_by_their_content() -> None:
    assert is_trace(json.dumps(trace(EVENTS)).encode())
    assert is_trace(json.dumps(EVENTS).encode())
    assert is_trace(b'\n{\n  "schemaVersion": 1,\n  "deviceProperties": [\n')


@pytest.mark.parametrize(
    "text",
    [
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3}}',
        "[2024-01-01] step 1",
        "[[-1, 1, 37888, 7]]",
        '{"ph": 7.2}',
    ],
)
def test_other_json_and_logs_are_no_traces(text: str) -> None:
    assert not is_trace(text.encode())


def test_collectives_without_their_group_are_told(tmp_path: Path) -> None:
    summary = read(written(tmp_path / "t.json", trace(EVENTS)))
    assert "1 of 1 communication kernels do not say their process group" in told(summary)
    named = [collective("allreduce", 10.0, 5.0, [0, 1])]
    assert "process group" not in told(read(written(tmp_path / "t.json", trace(named))))
