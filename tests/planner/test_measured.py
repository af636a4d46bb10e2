"""Step times in the forms in which publishers state them."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.planner.flops import model_flops
from doctor.planner.measured import measured_step
from doctor.planner.records import Record, read_record


def record(measured: dict[str, Any], repo: str = "somebody/something", **train: Any) -> Record:
    return read_record(
        {
            "id": "x",
            "kind": "measured",
            "source": {"repo": repo},
            "model": {"name": "x", "layers": 8, "hidden": 4096, "heads": 32, "vocab": 32000, "seq": 8192},
            "hardware": {"gpu": "H100", "count": 8},
            "parallel": {"tp": 8, "dp": 1},
            "train": {"mbs": 1, "gbs": 16, "precision": "bf16", **train},
            "measured": measured,
        }
    )


def seconds(given: Record) -> float:
    found, reason = measured_step(given)
    assert found is not None, reason
    return found


def test_a_step_from_seconds_or_tokens() -> None:
    assert seconds(record({"iter_s": 2.5, "tokens_s_gpu": 1})) == 2.5
    assert seconds(record({"tokens_s_gpu": 1000.0})) == pytest.approx(16 * 8192 / 8000)


def test_a_step_from_flop_counts_whole_score_matrices_and_recomputation_where_said() -> None:
    plain = record({"tflops_per_gpu": 400.0})
    assert plain.job
    assert seconds(plain) == pytest.approx(model_flops(plain.job) / 8 / 400e12)
    again = record({"tflops_per_gpu": 400.0}, recompute="full", flops_include_recompute=True)
    assert 1.25 < seconds(again) / seconds(plain) < 4 / 3
    assert seconds(record({"mfu": 40.0})) == pytest.approx(model_flops(plain.job) / 8 / 0.4 / 989e12)


def test_newer_megatron_counts_half_of_the_score_matrix() -> None:
    half = record({"tflops_per_gpu": 400.0}, repo="NVIDIA-NeMo/Megatron-Bridge")
    assert half.job
    assert seconds(half) == pytest.approx(model_flops(half.job, causal=True) / 8 / 400e12)


@pytest.mark.parametrize(
    ("measured", "changes", "words"),
    [
        ({}, {}, "no step time"),
        ({"iter_s": "fast"}, {}, "no step time"),
        ({"iter_s": float("inf")}, {}, "no positive number"),
        ({"iter_s": -1}, {}, "no positive number"),
        ({"iter_s": 1.0}, {"precision": "nvfp4"}, "number format"),
        ({"iter_s": 1.0}, {"gbs": None}, "without its batch"),
    ],
)
def test_a_record_without_a_comparable_time_says_why(
    measured: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    found, reason = measured_step(record(measured, **changes))
    assert found is None
    assert reason and words in reason.en
