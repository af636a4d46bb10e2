"""What holds for every adapter: a change arrives in the file, once, and nothing else in it moves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.adapters.diff import unified
from doctor.adapters.model import Rendered
from doctor.adapters.registry import adapter_for, adapter_named
from tests.adapters.samples import SAMPLES

CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "tp": st.sampled_from([1, 2, 4, 16]),
    "pp": st.sampled_from([1, 2, 8]),
    "vpp": st.sampled_from([1, 2, 4]),
    "cp": st.sampled_from([1, 2]),
    "ep": st.sampled_from([1, 8]),
    "etp": st.sampled_from([1, 2]),
    "sp": st.booleans(),
    "micro_batch": st.integers(1, 8),
    "grad_accum": st.integers(1, 64),
    "seq": st.sampled_from([1024, 4096, 131072]),
    "sharding": st.sampled_from(["none", "optimizer", "gradients", "full"]),
    "recompute": st.sampled_from(["none", "selective", "operators", "full"]),
    "precision": st.sampled_from(["bf16", "fp16", "fp32", "fp8"]),
    "attention": st.sampled_from(["flash", "unfused"]),
    "fused_loss": st.booleans(),
    "offload_optimizer": st.booleans(),
    "offload_param": st.booleans(),
    "num_workers": st.integers(0, 16),
    "manual_gc": st.booleans(),
    "learning_rate": st.sampled_from([3e-4, 1e-5]),
    "reduce_bucket": st.sampled_from([50_000_000]),
}
SOME_CHANGES = st.fixed_dictionaries({}, optional=CHANGES)
KNOWN = {"dp": 16}


@pytest.mark.parametrize("path", SAMPLES)
def test_a_file_is_recognised_as_its_frameworks(path: str) -> None:
    text, name = SAMPLES[path]
    adapter = adapter_for(path, text)
    assert adapter is not None
    assert adapter.name == name
    assert adapter is adapter_named(name)


@pytest.mark.parametrize("path", SAMPLES)
@settings(max_examples=25, deadline=None)
@given(changes=SOME_CHANGES)
def test_what_is_written_is_read_back(path: str, changes: dict[str, Any]) -> None:
    rendered = _rendered(path, SAMPLES[path][0], changes)
    after = adapter_named(SAMPLES[path][1]).read(rendered.text, path)
    left = {note.knob for note in rendered.left}
    for knob, value in changes.items():
        if knob in left or (knob == "grad_accum" and "grad_accum" not in after):
            continue
        found = after[knob].value if knob in after else None
        assert _says(knob, found, value), (knob, value, found)


@pytest.mark.parametrize("path", SAMPLES)
@settings(max_examples=15, deadline=None)
@given(changes=SOME_CHANGES)
def test_a_second_time_changes_nothing(path: str, changes: dict[str, Any]) -> None:
    once = _rendered(path, SAMPLES[path][0], changes).text
    assert _rendered(path, once, changes).text == once


@pytest.mark.parametrize("path", SAMPLES)
def test_what_the_file_says_already_changes_nothing(path: str) -> None:
    text, name = SAMPLES[path]
    stated = {knob: found.value for knob, found in adapter_named(name).read(text, path).items()}
    stated = {knob: value for knob, value in stated.items() if not isinstance(value, int) or value >= 0}
    assert _rendered(path, text, stated).text == text


@pytest.mark.parametrize("path", SAMPLES)
@settings(max_examples=10, deadline=None)
@given(changes=SOME_CHANGES)
def test_comments_and_other_settings_stay(path: str, changes: dict[str, Any]) -> None:
    text = SAMPLES[path][0]
    after = _rendered(path, text, changes).text
    for word in ("inside the node", "or 1", "gelu before", "kept small", "gradient_clipping", "hidden-size", "Größe"):
        assert after.count(word) == text.count(word)
    assert after.endswith("\n")


@pytest.mark.parametrize("path", SAMPLES)
@settings(max_examples=8, deadline=None)
@given(changes=SOME_CHANGES)
def test_line_breaks_of_windows_stay(path: str, changes: dict[str, Any]) -> None:
    text = SAMPLES[path][0]
    after = _rendered(path, text.replace("\n", "\r\n"), changes).text
    assert after.replace("\r\n", "\n") == _rendered(path, text, changes).text
    assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize("path", SAMPLES)
def test_what_a_framework_has_no_name_for_is_said(path: str) -> None:
    changes = {"tp": 4, "lora_rank": 16, "dropout": True, "env.NCCL_DEBUG": "INFO"}
    rendered = _rendered(path, SAMPLES[path][0], changes)
    left = {note.knob: note for note in rendered.left}
    assert {"lora_rank", "dropout"} <= set(left)
    assert "lora_rank = 16" in left["lora_rank"].en
    assert "lora_rank = 16" in left["lora_rank"].zh
    assert ("NCCL_DEBUG" in rendered.text) != ("env.NCCL_DEBUG" in left)


@pytest.mark.parametrize("path", SAMPLES)
@pytest.mark.parametrize("command", [["patch", "-p1", "--silent"], ["git", "apply", "--whitespace=nowarn", "-"]])
@pytest.mark.parametrize("ends", ["\n", "\r\n", ""])
def test_the_diff_applies(path: str, command: list[str], ends: str, tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    if command[0] == "patch" and ends == "\r\n":
        command = [*command, "--binary"]
    text = SAMPLES[path][0]
    text = text.replace("\n", ends) if ends else text.rstrip("\n")
    new = _rendered(path, text, {"tp": 2, "sharding": "full", "micro_batch": 1, "precision": "bf16"}).text
    target = tmp_path / "conf" / path
    target.parent.mkdir()
    target.write_bytes(text.encode())
    diff = unified(f"conf/{path}", text, new)
    if diff:
        subprocess.run(command, input=diff.encode(), cwd=tmp_path, check=True)
    assert target.read_bytes() == new.encode()


def _rendered(path: str, text: str, changes: dict[str, Any]) -> Rendered:
    return adapter_named(SAMPLES[path][1]).render(text, changes, KNOWN, path)


def _says(knob: str, found: Any, value: Any) -> bool:
    if knob == "vpp" and value == 1:
        return found in (None, 1)
    if found is None:
        # A switch that is off by not being there, and what is left out by default.
        return value is False or value in ("none", "fp32")
    if knob == "recompute" and {found, value} <= {"selective", "operators"}:
        return True
    return bool(found == value)
