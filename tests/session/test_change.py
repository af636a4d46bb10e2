"""A change of a job goes to the files that state its settings."""

from __future__ import annotations

from doctor.planner.job import Sharding, Stack
from doctor.planner.knobs import apply, assignments
from doctor.session.change import changed_files
from tests.planner.support import job

SCRIPT = b"torchrun pretrain_gpt.py --tensor-model-parallel-size 8 --micro-batch-size 2 --global-batch-size 512\n"
ZERO = b'{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}\n'


def test_a_setting_is_changed_where_it_stands_and_others_stay() -> None:
    plain = job(tp=8, dp=8, micro_batch=2)
    found = changed_files({"run.sh": SCRIPT}, plain, apply(plain, assignments(["tp=4"])))
    assert [change.path for change in found] == ["run.sh"]
    assert "+torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --micro-batch-size 2" in found[0].diff


def test_the_batch_of_a_json_stays_true() -> None:
    plain = job("llama3-8b", gpus=8, stack=Stack.DEEPSPEED, sharding=Sharding.GRADIENTS, micro_batch=4, global_batch=64)
    found = changed_files({"ds.json": ZERO}, plain, apply(plain, assignments(["micro_batch=2", "zero_stage=3"])))
    assert '"stage": 3' in found[0].diff
    assert (
        '"train_micro_batch_size_per_gpu": 2' in found[0].diff and '"gradient_accumulation_steps": 4' in found[0].diff
    )


def test_no_change_no_files_and_no_text_make_no_diff() -> None:
    plain = job(tp=8, dp=8, micro_batch=2)
    after = apply(plain, assignments(["tp=4"]))
    assert changed_files({"run.sh": SCRIPT}, plain, plain) == ()
    assert changed_files({}, plain, after) == ()
    assert changed_files({"a": b"\x00\x01", "b": b"\xff\xfe", "c": b"nothing of a job"}, plain, after) == ()


def test_files_that_no_person_writes_are_left_alone() -> None:
    plain = job(tp=8, dp=8, micro_batch=2)
    large = SCRIPT + b"# made by a program\n" * 5000
    assert changed_files({"run.sh": large}, plain, apply(plain, assignments(["tp=4"]))) == ()
