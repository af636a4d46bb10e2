"""Who holds the memory of a GPU: by the driver, by the job's own account, by both; what nothing tells is unknown."""

from __future__ import annotations

from doctor.facts.model import Fact, Quality, Value
from doctor.facts.store import FactStore
from doctor.session.gpu_memory import GpuMemory, memory_by_gpu, picture_of
from doctor.views.gpu_memory import draw_gpu_memory, gpu_memory_data
from doctor.views.page import Page

GIB = 1 << 30
DRIVER = {
    "gpu.memory_total": 80 * GIB, "gpu.memory_used": 60 * GIB, "gpu.memory_free": 19 * GIB,
    "gpu.process_pids": (4711, 12), "gpu.processes": (f"4711 {50 * GIB}", f"12 {9 * GIB}"),
}  # fmt: skip
RECORDED = {
    "rank.host": "n1", "recording.pid": 4711, "recording.allocated": 30 * GIB, "recording.reserved": 47 * GIB,
    "recording.inactive_split": 5 * GIB, "recording.allocated_peak": 40 * GIB, "recording.reserved_peak": 48 * GIB,
}  # fmt: skip
JOB = {
    "config.framework": "megatron", "config.world_size": 8, "config.tp": 1, "config.pp": 1, "config.micro_batch": 1,
    "config.seq_len": 4096, "config.num_layers": 16, "config.hidden_size": 2048, "config.num_heads": 16,
    "config.vocab_size": 32000, "config.global_batch": 64, "config.precision": "bf16", "gpu.name": "NVIDIA H100 80GB HBM3",
}  # fmt: skip


def store(gpu: dict[str, Value] | None = None, rank: dict[str, Value] | None = None, **job: Value) -> FactStore:
    facts = [Fact(name, value, "gpu:n1/3", quality=Quality.MEASURED) for name, value in (gpu or {}).items()]
    facts += [Fact(name, value, "rank:3", quality=Quality.MEASURED) for name, value in (rank or {}).items()]
    return FactStore(facts + [Fact(name, value) for name, value in job.items()])


def shown(found: tuple[GpuMemory, ...], lang: str, everything: bool = False) -> str:
    page = Page(200)
    draw_gpu_memory(page, found, lang, everything)
    return " ".join(" ".join(line.plain for line in page.lines()).split())


def parts(one: GpuMemory) -> dict[str, int | None]:
    return {amount.kind: amount.bytes for amount in one.amounts}


def test_driver_and_recorder_together() -> None:
    (one,) = memory_by_gpu(store(DRIVER, RECORDED))
    assert (one.gpu, one.rank, one.total) == ("gpu:n1/3", "rank:3", 80 * GIB)
    assert parts(one) == {
        "allocated": 30 * GIB, "cached": 12 * GIB, "fragmented": 5 * GIB, "outside": 3 * GIB, "others": 10 * GIB,
        "driver": GIB, "free": 19 * GIB,
    }  # fmt: skip
    assert sum(size or 0 for size in parts(one).values()) == one.total


def test_a_container_hides_who_has_what() -> None:
    """No list of processes, or one with the host's numbers and no sizes: the rank is found by its GPU's address."""
    gpu = {name: value for name, value in DRIVER.items() if "process" not in name} | {"gpu.bus_id": "00000000:3b:00.0"}
    (one,) = memory_by_gpu(store(gpu, {**RECORDED, "recording.device_bus": "00000000:3b:00.0"}))
    assert parts(one)["outside_or_others"] == 13 * GIB and "others" not in parts(one)


def test_sizes_that_the_driver_does_not_tell_are_unknown() -> None:
    (one,) = memory_by_gpu(store({**DRIVER, "gpu.processes": ("4711 0", "12 0")}, RECORDED))
    assert parts(one)["outside_or_others"] == 13 * GIB


def test_a_job_that_has_ended_is_not_put_upon_what_runs_now() -> None:
    now = {**DRIVER, "gpu.process_pids": (12,), "gpu.processes": (f"12 {59 * GIB}",)}
    (one,) = memory_by_gpu(store(now, {**RECORDED, "recording.device_index": 3}))
    assert one.apart == "ended" and parts(one)["used"] == 60 * GIB and "allocated" not in parts(one)


def test_a_recording_alone() -> None:
    (one,) = memory_by_gpu(store(rank=RECORDED))
    assert one.gpu is None and one.total is None
    assert parts(one)["allocated"] == 30 * GIB
    assert parts(one)["outside"] is None and parts(one)["free"] is None


def test_a_snapshot_alone_does_not_tell_fragments() -> None:
    (one,) = memory_by_gpu(store(rank={"snapshot.allocated": 3 * GIB, "snapshot.reserved": 4 * GIB}))
    assert parts(one)["cached"] == GIB and "fragmented" not in parts(one)


def test_the_driver_alone() -> None:
    (one,) = memory_by_gpu(store(DRIVER))
    assert one.rank is None and parts(one) == {"used": 60 * GIB, "driver": GIB, "free": 19 * GIB}
    assert shown((one,), "en") == ""  # only when all is asked for
    assert "in use 60.0 GiB" in shown((one,), "en", everything=True)


def test_nothing_known_is_no_picture() -> None:
    assert memory_by_gpu(FactStore()) == ()
    assert picture_of(()) is None


def test_the_same_gpu_of_another_host_is_another() -> None:
    found = memory_by_gpu(store(DRIVER, {**RECORDED, "rank.host": "n2", "recording.device_index": 3}))
    assert [(one.gpu, one.rank) for one in found] == [("gpu:n1/3", None), (None, "rank:3")]


def test_categories_stand_beside_the_planners_model() -> None:
    held = {"recording.held_parameters": 2 * GIB, "recording.held_gradients": 4 * GIB}
    held |= {"recording.held_optimizer": 8 * GIB}
    (one,) = memory_by_gpu(store(DRIVER, {**RECORDED, **held}, **JOB))
    compared = {row.kind: row for row in one.compared}
    assert compared["parameters"].measured == 2 * GIB and compared["parameters"].predicted > GIB // 2
    assert compared["rest"].measured == (40 - 14) * GIB and compared["reserve"].measured == 8 * GIB
    assert compared["outside"].measured == 3 * GIB
    (without,) = memory_by_gpu(store(DRIVER, RECORDED, **JOB))
    assert {row.kind: row.measured for row in without.compared}["rest"] is None


def test_bars_and_words_in_both_languages() -> None:
    found = memory_by_gpu(store(DRIVER, RECORDED, **JOB))
    picture = picture_of(found)
    assert picture is not None and abs(sum(part.share for part in picture.bars[0].parts) - 1) < 0.01
    english = shown(found, "en")
    assert "rank 3, GPU n1/3" in english and "fragmented 5.0 GiB" in english and "other processes 10.0 GiB" in english
    assert "parameters unknown (" in english
    assert "碎片 5.0 GiB" in shown(found, "zh") and "未知" in shown(found, "zh")
    assert gpu_memory_data(found)[0]["parts"][0] == {"what": "allocated", "bytes": 30 * GIB}
