"""Taken remedies arrive in the job's own files as one diff, and what cannot is said with the reason."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.planner.knobs import apply, assignments
from doctor.rulebase.load import load_rulebase
from doctor.rulebase.model import Text
from doctor.session.asked import Asked, lines
from doctor.session.edits import Edits, edits
from tests.adapters.samples import SAMPLES
from tests.planner.support import job

SCRIPT = """#!/bin/bash
export NCCL_DEBUG=WARN   # loud enough
ARGS=(
    --tensor-model-parallel-size 8
    --micro-batch-size 2   # per GPU
    --global-batch-size 512
)
torchrun --nproc-per-node 8 pretrain_gpt.py "${ARGS[@]}" \\
    --bf16
"""
ZERO = '{\n  // ours\n  "zero_optimization": {"stage": 2},\n  "train_micro_batch_size_per_gpu": 4\n}\n'


def asked(name: str = "R:a", **values: object) -> Asked:
    return Asked(name, Text(f"cure {name}", f"修复 {name}"), **values)  # type: ignore[arg-type]


def edited(*wanted: Asked, **files: str) -> Edits:
    configs = {"run.sh": SCRIPT} if not files else {name.replace("_", "."): text for name, text in files.items()}
    return edits({name: text.encode() for name, text in configs.items()}, wanted, None, None)


def patched(folder: Path, patch: str, name: str, text: str) -> str:
    (folder / name).write_text(text)
    subprocess.run(["patch", "-p1", "--silent"], cwd=folder, input=patch.encode(), check=True)
    return (folder / name).read_text()


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not here")
def test_settings_options_and_variables_of_several_remedies_are_one_diff(tmp_path: Path) -> None:
    plain = job(tp=8, dp=8, micro_batch=2)
    wanted = (
        asked("A:halve", settings={"micro_batch": 1}, planned=True),
        asked("B:save", flags={"megatron": "--ckpt-format torch_dist --async-save"}),
        asked("C:trace", env={"NCCL_DEBUG": "INFO", "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}),
    )
    found = edits({"run.sh": SCRIPT.encode()}, wanted, plain, apply(plain, assignments(["micro_batch=1"])))
    assert found.left == {}
    assert found.done == {("A:halve", "config"), ("B:save", "megatron"), ("C:trace", "env")}
    assert len(found.files) == 1
    after = patched(tmp_path, found.patch, "run.sh", SCRIPT)
    for line in (
        "export NCCL_DEBUG=INFO   # loud enough", "export TORCH_NCCL_DUMP_ON_TIMEOUT=1", "    --async-save",
        "    --ckpt-format torch_dist", "    --micro-batch-size 1   # per GPU",
    ):  # fmt: skip
        assert line in after.replace(" \\\n", "\n").splitlines()
    again = edits({"run.sh": after.encode()}, wanted[1:], None, None)
    assert again.patch == "" and again.left == {}


def test_two_remedies_that_want_different_values_are_named() -> None:
    found = edited(
        asked("A:one", env={"NCCL_DEBUG": "INFO"}), asked("B:two", env={"NCCL_DEBUG": "TRACE", "NCCL_IB_TIMEOUT": "22"})
    )
    assert found.done == {("A:one", "env")}
    assert found.left["B:two", "env"].en == "NCCL_DEBUG is already set otherwise by: cure A:one"
    assert "修复 A:one" in found.left["B:two", "env"].zh
    assert "NCCL_IB_TIMEOUT" not in found.patch


def test_options_that_set_what_the_planner_refuses_are_not_written() -> None:
    plain = job(tp=8, dp=8, micro_batch=2)
    found = edits(
        {"run.sh": SCRIPT.encode()}, [asked(flags={"megatron": "--tensor-model-parallel-size 3"})], plain, None
    )
    assert found.patch == ""
    assert "not for this job" in found.left["R:a", "megatron"].en


def test_options_do_not_undo_what_the_plan_sets() -> None:
    plain = job(tp=8, dp=8, micro_batch=2)
    wanted = asked(flags={"megatron": "--tensor-model-parallel-size 2"})
    found = edits({"run.sh": SCRIPT.encode()}, [wanted], plain, apply(plain, assignments(["tp=4"])))
    assert "--tensor-model-parallel-size 4" in found.patch
    assert found.left["R:a", "megatron"].en == "the plan sets tp otherwise"


def test_settings_are_written_where_the_planner_has_no_say() -> None:
    found = edited(asked(settings={"micro_batch": 1, "num_workers": 2}, flags={"megatron": "--micro-batch-size N"}))
    assert "--micro-batch-size 1" in found.patch and "--num-workers 2" in found.patch
    assert found.done == {("R:a", "config"), ("R:a", "megatron")}


@pytest.mark.parametrize(
    ("remedy", "kind", "why"),
    [
        (asked(flags={"megatron": "--micro-batch-size N"}), "megatron", "stands for a value"),
        (asked(flags={"deepspeed": '{"zero_optimization": {"stage": 3}}'}), "deepspeed", "no file of deepspeed"),
        (asked(settings={"micro_batch": None}), "config", "not known"),
        (asked(settings={"micro_batch": 1}, why=Text("3 GPUs", "3 个 GPU")), "config", "3 GPUs"),
        (asked(env={"NCCL_SOCKET_IFNAME": "<interface>"}), "env", "to fill in"),
        (asked(settings={"zero_stage": 7}), "config", "right would be"),
    ],
)
def test_what_is_not_written_has_its_reason(remedy: Asked, kind: str, why: str) -> None:
    found = edited(remedy)
    assert found.patch == "" and not found.done
    assert why in found.left["R:a", kind].en and found.left["R:a", kind].zh


def test_of_several_frameworks_the_one_whose_file_is_here_counts() -> None:
    found = edited(asked(flags={"deepspeed": '{"zero_optimization": {"stage": 3}}', "hf": "--bf16 True"}), ds_json=ZERO)
    assert '"stage": 3' in found.patch and "// ours" in found.patch
    assert found.done == {("R:a", "deepspeed"), ("R:a", "hf")}


def test_variables_need_the_script_and_a_container_keeps_its_own() -> None:
    wanted = asked(env={"NCCL_DEBUG": "INFO"})
    assert "script" in edited(wanted, ds_json=ZERO).left["R:a", "env"].en
    compose = "services:\n  train:\n    environment:\n      NCCL_DEBUG: WARN\n"
    found = edited(wanted, run_sh=SCRIPT, compose_yaml=compose)
    assert found.left["R:a", "env"].en == "compose.yaml:4 sets NCCL_DEBUG: change it there"


def test_one_reason_for_several_variables_is_said_once() -> None:
    found = edited(asked(env={"A": "1", "B": "2"}), run_sh="docker run image torchrun a.py --x 1\n")
    assert found.left["R:a", "env"].en == (
        "A, B: docker on line 1 does not hand on what the script exports: set it there"
    )


def test_the_script_that_configures_the_job_is_the_one_that_starts_it() -> None:
    found = edited(asked(env={"NCCL_DEBUG": "INFO", "A": "1"}), run_sh=SCRIPT, other_sh="python convert.py --x\n")
    assert [change.path for change in found.files] == ["run.sh"]
    unclear = edited(asked(env={"A": "1"}), a_sh="python a.py --x\n", b_sh="python b.py --y\n")
    assert "a.sh, b.sh" in unclear.left["R:a", "env"].en


@pytest.mark.parametrize("text", ["", "\0", "ARGS=(--micro-batch-size 1", "python 'x\n", "#" * 70000])
def test_files_that_cannot_be_read_are_left_alone(text: str) -> None:
    wanted = asked(env={"A": "1"}, flags={"megatron": "--bf16"}, settings={"micro_batch": 1})
    assert edited(wanted, run_sh=text).patch == ""


@lru_cache(maxsize=1)
def of_rules() -> list[tuple[Asked, ...]]:
    """What all remedies of a rule ask for, for every rule."""
    return [
        tuple(
            Asked(
                f"{rule.id}:{remedy.id}",
                remedy.title,
                {key: new if isinstance(new, int) else None for key, new in (remedy.change.get("patch") or {}).items()},
                {str(key): lines(text) for key, text in (remedy.change.get("flags") or {}).items()},
                {key: None if new is None else str(new) for key, new in (remedy.change.get("env") or {}).items()},
            )
            for remedy in rule.remedies
        )
        for rule in load_rulebase(()).base.rules.values()
    ]


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not here")
@settings(max_examples=60, deadline=None)
@given(path=st.sampled_from(sorted(SAMPLES)), data=st.data())
def test_what_any_rule_asks_for_applies_to_any_file_once(path: str, data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(of_rules()))
    configs = {"launch.sh": b"#!/bin/bash\nif x; then\n  export Y=1\nfi\ntorchrun train.py --config c\n"}
    configs[path] = SAMPLES[path][0].encode()
    found = edits(configs, wanted, None, None)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in configs.items():
            (Path(folder) / name).write_bytes(text)
        if found.patch:
            order = ["patch", "-p1", "--fuzz=0", "--silent"]
            subprocess.run(order, cwd=folder, input=found.patch.encode(), check=True)
        after = {name: (Path(folder) / name).read_bytes() for name in configs}
    if bash := shutil.which("bash"):
        assert subprocess.run([bash, "-n"], input=after["launch.sh"], check=False).returncode == 0
    assert edits(after, wanted, None, None).patch == ""
