from __future__ import annotations

import pytest

from doctor.facts.labels import Settings, settings, speeds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("single_node.log", {"nodes": 1}),
        ("two_nodes_zero0.log", {"nodes": 2, "zero": 0}),
        ("with_offload.log", {"offload": True}),
        ("without_offload.log", {"offload": False}),
        ("logs/tp=16/rank0.log", {"tp": 16}),
        ("tp8_pp2.log", {"tp": 8, "pp": 2}),
        ("no gradient checkpointing, mbs 4", {"recompute": "none", "micro_batch": 4}),
        ("--gradient_accumulation_steps 8", {"grad_accum": 8}),
    ],
)
def test_settings_are_read_from_names_and_notes(text: str, expected: Settings) -> None:
    assert settings(text) == expected


@pytest.mark.parametrize("text", ["node1.log", "rank1_step8.log", "epoch 3", "worker-0/stdout.log", "https://host/x"])
def test_places_and_counters_are_no_settings(text: str) -> None:
    assert settings(text) == {}


def test_settings_may_stand_behind_the_speed() -> None:
    found = [(s.value, s.settings) for s in speeds("33 TFLOPS with PP 4 and 170 TFLOPS with PP 1")]
    assert found == [(33.0, {"pp": 4}), (170.0, {"pp": 1})]


def test_thousands_and_units_are_understood() -> None:
    (speed,) = speeds("tp8: 12.5k tokens/s/GPU")
    assert (speed.value, speed.per_gpu, speed.time) == (12_500.0, True, False)


def test_iterations_a_second_are_the_same_kind_as_seconds_an_iteration() -> None:
    (fast,), (slow,) = [*speeds("without DeepSpeed 4 it/s")], [*speeds("with DeepSpeed ZeRO 1 and offload 2.0 s/it")]
    assert (fast.value, fast.measure, slow.value, slow.measure) == (0.25, "s/it", 2.0, "s/it")
    assert (fast.settings, slow.settings) == ({"zero": 0, "offload": False}, {"zero": 1, "offload": True})
