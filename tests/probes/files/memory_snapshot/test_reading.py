"""What snapshots of the allocator tell, whole, cut off, without a history, and damaged."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from doctor.facts.model import Value
from probes.files.memory_snapshot import is_snapshot, read_snapshots
from tests.probes.files.memory_snapshot.snapshots import (
    BACKWARD,
    BUILD,
    FORWARD,
    GATHER,
    GIB,
    LOSS,
    MIB,
    MOMENTS,
    Allocator,
    frames,
    snapshot,
    trained,
    write,
)


def told(path: Path, entity: str = "gpu:?/0") -> dict[str, Value]:
    return {fact.name: fact.value for fact in read_snapshots([(path, path.name)]).facts if fact.entity == entity}


def remarks(path: Path) -> list[str]:
    return [text for texts in read_snapshots([(path, path.name)]).warnings.values() for text in texts]


def shares(facts: dict[str, Value], moment: str) -> dict[str, float]:
    listed = facts[f"snapshot.{moment}_categories"]
    assert isinstance(listed, tuple)
    return {name: int(size) / GIB for name, _, size in (str(entry).partition("=") for entry in listed)}


def test_the_peak_lies_within_the_loss_and_is_told_by_category(tmp_path: Path) -> None:
    facts = told(write(tmp_path / "snap.pickle", snapshot(trained())))
    assert facts["snapshot.peak_total"] == (8 + 16 + 1 + 4 + 4) * GIB
    assert shares(facts, "peak") == {
        "optimizer_state": 16,
        "parameters": 8,
        "logits": 4,
        "activations": 4,
        "gradients": 1,
    }
    assert shares(facts, "end") == {"optimizer_state": 16, "parameters": 8, "gradients": 1}


@pytest.mark.parametrize(
    ("stack", "category"),
    [
        (FORWARD, "activations"),
        (LOSS, "logits"),
        (BUILD, "parameters"),
        (MOMENTS, "optimizer_state"),
        (BACKWARD, "gradients"),
        (GATHER, "communication"),
        ((("/venv/torch/optim/adamw.py", "_multi_tensor_adamw"),), "temporary"),
        ((("/src/megatron/core/distributed/param_and_grad_buffer.py", "__init__"),), "parameter_buffers"),
        (
            (("/src/deepspeed/runtime/zero/stage3.py", "reduce_independent_p_g_buckets_and_remove_grads"),),
            "communication",
        ),
        ((("??", "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)"),), "gradients"),
        ((("/venv/transformers/loss/loss_utils.py", "ForCausalLMLoss"), *FORWARD), "logits"),
        ((("/work/data.py", "prefetch"),), "unknown"),
        ((), "unknown"),
    ],
)
def test_stacks_tell_what_memory_is_for(stack: Any, category: str, tmp_path: Path) -> None:
    gpu = Allocator()
    gpu.alloc(GIB, stack)
    assert shares(told(write(tmp_path / "snap.pickle", snapshot(gpu))), "end") == {category: 1}


def test_the_error_tells_what_was_held_cached_and_free(tmp_path: Path) -> None:
    gpu = trained(3)
    gpu.oom(20 * GIB, 2 * GIB, LOSS)
    facts = told(write(tmp_path / "snap.pickle", snapshot(gpu)))
    assert (facts["snapshot.oom_requested"], facts["snapshot.oom_device_free"]) == (20 * GIB, 2 * GIB)
    assert (facts["snapshot.oom_reserved"], facts["snapshot.oom_cached"]) == (64 * GIB, (64 - 25) * GIB)
    assert facts["snapshot.oom_site"] == "/venv/torch/nn/functional.py:cross_entropy < /work/train.py:step"


def test_a_full_ring_says_what_was_there_before_it(tmp_path: Path) -> None:
    path = write(tmp_path / "snap.pickle", snapshot(trained(10), last=30))
    facts = told(path)
    assert facts["snapshot.cut"] is True
    assert facts["snapshot.peak_total"] == 33 * GIB
    assert shares(facts, "end") == {"optimizer_state": 16, "parameters": 8, "gradients": 1}
    assert "the history begins after the job did" in remarks(path)[0]


def test_a_block_given_back_that_was_never_asked_for_was_there_before(tmp_path: Path) -> None:
    gpu = Allocator()
    early = gpu.alloc(3 * GIB)
    gpu.trace.clear()
    gpu.free(early)
    gpu.alloc(GIB)
    facts = told(write(tmp_path / "snap.pickle", snapshot(gpu)))
    assert (facts["snapshot.earlier"], facts["snapshot.peak_total"]) == (3 * GIB, 3 * GIB)
    assert shares(facts, "peak") == {"earlier": 3}


def test_without_a_history_only_what_is_held_is_told(tmp_path: Path) -> None:
    document = snapshot(trained(2))
    document["device_traces"] = [[]]
    for segment in document["segments"]:
        for block in segment["blocks"]:
            block["frames"] = []
    path = write(tmp_path / "snap.pickle", document)
    facts = told(path)
    assert (facts["snapshot.recorded"], facts["snapshot.allocated"]) == (False, 25 * GIB)
    assert "snapshot.peak_total" not in facts
    assert "no history was recorded" in remarks(path)[0]


def test_the_bare_list_of_old_versions(tmp_path: Path) -> None:
    segment = trained(2).segment(0)
    for block in segment["blocks"]:
        told_frames = block.pop("frames")
        block.pop("address")
        block.pop("requested_size")
        block["history"] = [{"addr": 0, "real_size": block["size"], "frames": told_frames}]
    path = write(tmp_path / "snap.pickle", [segment])
    assert is_snapshot(path)
    assert shares(told(path), "end") == {"optimizer_state": 16, "parameters": 8, "gradients": 1}


def test_json_and_packed_files_say_the_same(tmp_path: Path) -> None:
    document = snapshot(trained())
    plain = told(write(tmp_path / "a.pickle", document))
    as_json, packed = tmp_path / "b.json", tmp_path / "c.pickle.gz"
    as_json.write_text(json.dumps(document))
    packed.write_bytes(gzip.compress((tmp_path / "a.pickle").read_bytes()))
    for path in (as_json, packed):
        assert is_snapshot(path)
        assert told(path) == plain


def test_the_rank_of_the_name_is_that_of_the_device_that_holds_most(tmp_path: Path) -> None:
    path = write(tmp_path / "snap_rank5.pickle", snapshot(Allocator(reserved=MIB), trained(2)))
    facts = told(path, "rank:5")
    assert facts["snapshot.allocated"] == 25 * GIB
    assert told(path, "gpu:?/1") == {}
    assert told(path, "gpu:?/0")["snapshot.reserved"] == MIB


def test_growth_is_told_with_the_place_that_keeps_it(tmp_path: Path) -> None:
    facts = told(write(tmp_path / "snap.pickle", snapshot(trained(24, leaked=256 * MIB))))
    assert facts["snapshot.growth_site"] == "/work/metrics.py:update"
    assert isinstance(facts["snapshot.growth"], int) and facts["snapshot.growth"] > 3 * GIB


def test_a_slow_leak_over_few_steps_is_told_where_one_place_keeps_it(tmp_path: Path) -> None:
    """16 steps of a job that runs, of 40 GiB in use: 14 MiB a step are 0.3 % of it; 2 MiB, and many places, are not."""

    def running(leaked: int, places: int) -> Allocator:
        gpu = Allocator()
        for _ in range(20):
            gpu.alloc(2 * GIB, BUILD)
        gpu.trace.clear()
        for step in range(16):
            activations = [gpu.alloc(64 * MIB) for _ in range(8)]
            gpu.alloc(leaked, (("/work/metrics.py", f"update{step % places}"), *FORWARD[1:]))
            for address in activations:
                gpu.free(address)
        return gpu

    slow = told(write(tmp_path / "slow.pickle", snapshot(running(14 * MIB, 1))))
    assert slow["snapshot.growth_site"] == "/work/metrics.py:update0"
    for leaked, places in ((2 * MIB, 1), (14 * MIB, 16)):
        assert "snapshot.growth" not in told(write(tmp_path / "none.pickle", snapshot(running(leaked, places))))


def test_loading_then_training_is_no_growth(tmp_path: Path) -> None:
    gpu = trained(24)
    assert "snapshot.growth" not in told(write(tmp_path / "a.pickle", snapshot(gpu)))
    loading = Allocator()
    for _ in range(100):
        loading.alloc(GIB // 4, BUILD)
    facts = told(write(tmp_path / "b.pickle", snapshot(loading)))
    assert "snapshot.growth_site" not in facts


def test_the_allocator_retries_but_not_when_the_program_empties_the_cache(tmp_path: Path) -> None:
    gpu = Allocator()
    for _ in range(3):
        gpu.entry("segment_free", GIB, [], addr=1)
        gpu.entry("segment_free", GIB, [], addr=2)
        gpu.entry("segment_alloc", GIB, [], addr=3)
        gpu.alloc(GIB)
    gpu.entry("segment_free", GIB, frames((("/venv/torch/cuda/memory.py", "empty_cache"),)), addr=4)
    gpu.entry("segment_alloc", GIB, [], addr=5)
    assert told(write(tmp_path / "snap.pickle", snapshot(gpu)))["snapshot.retries"] == 3


class Trap:
    def __reduce__(self) -> Any:
        return os.system, ("touch was_run",)


def test_a_pickle_that_would_run_code_is_refused_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = snapshot(trained(1))
    document["external_annotations"] = [Trap()]
    path = write(tmp_path / "snap.pickle", document)
    assert is_snapshot(path)
    assert told(path) == {}
    assert "refers to posix.system, which no snapshot does" in remarks(path)[0]
    assert not (tmp_path / "was_run").exists()


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_file_that_ends_early_costs_one_remark(share: float, tmp_path: Path) -> None:
    data = pickle.dumps(snapshot(trained()), protocol=4)
    path = tmp_path / "snap.pickle"
    path.write_bytes(data[: int(share * len(data))])
    assert told(path) == {}
    assert len(remarks(path)) == 1 and "is damaged" in remarks(path)[0]


def test_odd_values_are_left_out_and_counted(tmp_path: Path) -> None:
    document = snapshot(trained(2))
    document["device_traces"][0] += [
        {"action": "alloc", "addr": 1, "size": float("nan")},
        {"action": "alloc", "addr": 1, "size": -5},
        {"action": 7, "size": 5},
        "no entry",
    ]
    document["segments"][0]["blocks"].append({"size": 1 << 60, "state": "active_allocated"})
    path = write(tmp_path / "snap.pickle", document)
    assert told(path)["snapshot.allocated"] == 25 * GIB
    assert "5 entries of device 0 are damaged" in " ".join(remarks(path))


def test_other_pickles_and_texts_are_none(tmp_path: Path) -> None:
    for name, data in (
        ("a", pickle.dumps({"model": {"weight": [1, 2]}})),
        ("b", b"{}"),
        ("c", b""),
        ("d", b"segments\n"),
    ):
        (tmp_path / name).write_bytes(data)
        assert not is_snapshot(tmp_path / name)


@pytest.mark.parametrize("part", ["segments", "device_traces"])
def test_one_list_in_many_places_is_no_snapshot(part: str, tmp_path: Path) -> None:
    document = snapshot(trained(2))
    document[part] = [document[part][0]] * 30_000
    path = write(tmp_path / "snap.pickle", document)
    assert told(path) == {}
    assert "in several places" in remarks(path)[0]
