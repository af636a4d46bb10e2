"""The lines in which frameworks tell a step, as their sources print them, are read with the rules that ship."""

from __future__ import annotations

from math import isnan

import pytest

from doctor.facts.model import Event, Value
from doctor.rulebase.load import load_rulebase
from probes.files.log import read_text

SPECS = tuple(load_rulebase().base.events.values())


def events(text: str) -> list[Event]:
    return [event for event in read_text("job.log", text.encode(), SPECS).events if event.name != "log.last_line"]


def told(line: str, name: str) -> dict[str, Value] | None:
    """The fields of the event `name` of one line; None where the line tells no such event."""
    found = [event for event in events(line + "\n") if event.name == name]
    return dict(found[0].fields) if found else None


TITAN = "[titan] 2026-05-02 10:00:07,120 - root - INFO - "
STEPS: list[tuple[str, str, str, dict[str, Value]]] = [
    ("Composer, by epoch", "[epoch=2][batch=12/16]:", "step", {"epoch": 2, "step": 12, "total": 16}),
    ("Composer, a loader without length", "[epoch=1][batch=7]:", "step", {"epoch": 1, "step": 7}),
    ("Composer, by batches", "[batch=40/400]:", "step", {"step": 40, "total": 400}),
    ("Composer, into a file", "[metric][batch=12]: {'loss/train/total': 1.42}", "step", {"step": 12}),
    ("Composer, by tokens", "[token=8192/1000000]:", "loss_line", {}),
    ("Composer's speed", "\t Train throughput/samples_per_sec: 57.2", "rate", {"samples_per_s": 57.2}),
    ("Ray Train", "(RayTrainWorker pid=311) {'loss': 1.37, 'epoch': 0, 'step': 8}", "step", {"step": 8, "loss": 1.37}),
    ("a dict, step first", "{'step': 8, 'lr': 0.1, 'train_loss': 0.5}", "step", {"step": 8, "loss": 0.5}),
    ("torchtune's log", "Step 6 | loss:2.25 lr:2e-05 tokens_per_second_per_gpu:810.5 peak_memory_active:3.1 "
     "peak_memory_alloc:3.2 peak_memory_reserved:3.5 grad_norm:1.5", "step",
     {"step": 6, "loss": 2.25, "tokens_per_s_gpu": 810.5, "memory_gib": 3.5, "grad_norm": 1.5}),
    ("torchtune's bar", "2|130|Loss: 2.25:  30%|###       | 30/100 [00:12<00:28,  2.43it/s]", "step",
     {"epoch": 2, "step": 130, "loss": 2.25}),
    ("Ignite's bar", "Epoch [1/3]: [10/100]  10%|#         , batch loss=1.17 [00:02<00:20]", "bar",
     {"label": "Epoch [1/3]", "step": 10, "total": 100}),
    ("litgpt", "Epoch 1 | iter 24 step 6 | loss train: 4.445, val: n/a | iter time: 80.14 ms (step) remaining time: 0:00:04",
     "step", {"iteration": 24, "step": 6, "loss": 4.445, "step_time_ms": 80.14}),
    ("torchtitan", TITAN + "step: 16  loss:  1.62274  grad_norm:  1.8401  memory:  0.69GiB(0.86%)  tps: 1,041  "
     "tflops: 10.25  mfu: 41.30%", "step",
     {"step": 16, "loss": 1.62274, "grad_norm": 1.8401, "tokens_per_s_gpu": 1041.0, "mfu_percent": 41.3}),
    ("the quick start of Megatron Core", "Losses reduced :  [{'lm loss': tensor(10.2134)}]", "loss_line", {}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "event", "fields"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_a_step_is_read(line: str, event: str, fields: dict[str, Value]) -> None:
    found = told(line, f"progress.{event}")
    assert found is not None
    assert {name: found.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "[Eval batch=3/10] Eval on eval data:",
        "\t Train throughput/device/samples_per_sec: 14.3",
        "\t Train loss/train/total: 1.5127",
        "iter 100: val loss 4.3340, val time: 120.20 ms",
        "Evaluation: [3/10]  30%|###       , accuracy=0.4 [00:02<00:05]",
        "{'stepsize': 8, 'gain_loss_ratio': 0.5}",
    ],
)
def test_what_is_no_step_is_not_read_as_one(line: str) -> None:
    names = ("progress.step", "progress.loss_line", "progress.bar")
    assert not any(event.name in names or "samples_per_s" in event.fields for event in events(line + "\n"))


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: Loss is not finite (global_avg_loss=nan) at step 50. Stopping training.",
        "TerminateOnNan: Output '{'batch loss': nan}' contains NaN or Inf. Stop training",
        "Epoch 1 | iter 24 step 24 | loss train: nan, val: n/a | iter time: 80.14 ms (step) remaining time: 0:00:04",
        "\t Train loss/train/total: nan",
        "Losses reduced :  [{'lm loss': tensor(nan)}]",
        "(RayTrainWorker pid=311) {'loss': nan, 'epoch': 0, 'step': 8}",
        "Step 6 | loss:nan lr:2e-05 tokens_per_second_per_gpu:810.5",
        "1|30|Loss: nan:  30%|###       | 30/100 [00:12<00:28,  2.43it/s]",
    ],
)
def test_a_loss_that_is_no_number_is_seen(line: str) -> None:
    assert told(line, "numerics.nan") is not None


@pytest.mark.parametrize(
    "line",
    [
        "\t Train loss/train/total: 0.5127",
        "\t Train loss/train/nan_batches: 0",
        "1|30|Loss: 2.5:  30%|###       | 30/100 [00:12<00:28,  2.43it/s]",
        "TerminateOnNan: attached to the trainer",
        "Epoch 1 | iter 24 step 24 | loss train: 4.445, val: n/a | iter time: 80.14 ms (step)",
    ],
)
def test_a_loss_that_is_a_number_is_none(line: str) -> None:
    assert told(line, "numerics.nan") is None


def test_the_loss_of_a_dict_that_is_no_number() -> None:
    found = told("{'loss': nan, 'step': 8}", "progress.step")
    assert found is not None and isinstance(found["loss"], float) and isnan(found["loss"])


def test_the_launcher_of_composer_names_the_rank_that_failed() -> None:
    (failed,) = events("ERROR:composer.cli.launcher:Rank 2 crashed with exit code 1.\n")
    assert (failed.name, failed.rank, failed.fields["exitcode"]) == ("torch.worker_failed", 2, 1)
    killed = events("ERROR:composer.cli.launcher:Rank 2 crashed with exit code -9.\n")
    assert {(event.name, event.rank) for event in killed} == {("torch.worker_failed", 2), ("host.sigkill", 2)}


def test_workers_of_ray_have_the_ranks_that_their_controller_lists() -> None:
    log = """\
(TrainController pid=90) Started training worker group of size 2:
(TrainController pid=90) - (ip=10.0.0.5, pid=311) world_rank=0, local_rank=0, node_rank=0
(TrainController pid=90) - (ip=10.0.0.6, pid=412) world_rank=1, local_rank=0, node_rank=1
(RayTrainWorker pid=311) {'loss': 1.37, 'epoch': 0, 'step': 8}
(RayTrainWorker pid=412, ip=10.0.0.6) {'loss': 1.38, 'epoch': 0, 'step': 8}
(RayTrainWorker pid=700) {'loss': 1.39, 'epoch': 0, 'step': 8}
"""
    ranks = [event.rank for event in events(log) if event.name == "progress.step"]
    assert ranks == [0, 1, None]


@pytest.mark.parametrize(("pid", "rank"), [(412, 1), (99, None)])
def test_a_worker_that_ray_lost_is_the_rank_of_its_process(pid: int, rank: int | None) -> None:
    log = f"""\
(TrainController pid=90) - (ip=10.0.0.5, pid=311) world_rank=0, local_rank=0, node_rank=0
(TrainController pid=90) - (ip=10.0.0.5, pid=412) world_rank=1, local_rank=1, node_rank=0
(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker IP address: 10.0.0.5 \
Worker port: 4325 Worker PID: {pid} Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a \
connection error code 2. End of file.
"""
    (lost,) = (event for event in events(log) if event.name == "ray.worker_lost")
    assert lost.rank == rank
