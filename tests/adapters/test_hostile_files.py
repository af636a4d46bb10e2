"""Files that are broken, huge or made to do harm: one clear line, in bounded time, and no half-written text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doctor.adapters.diff import unified
from doctor.adapters.errors import AdapterError
from doctor.adapters.registry import ADAPTERS, adapter_for, decoded, encoded
from doctor.planner.errors import PlanError
from tests.adapters.samples import SAMPLES

CHANGES: dict[str, Any] = {"tp": 4, "micro_batch": 1, "sharding": "full", "recompute": "full", "env.NCCL_DEBUG": "INFO"}
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "model:\n  tensor_model_parallel_size: 8\n" + BOMB),
        ("a.yaml", "model:\n  tensor_model_parallel_size: 8\nx: " + "[" * 5000),
        ("a.yaml", "model:\n  tensor_model_parallel_size: 8\n  !!python/object/apply:os.system ['id']: 1\n"),
        ("a.json", '{"zero_optimization": ' + '{"a": ' * 5000),
        ("a.json", '{"train_batch_size": 1, ' + '"x": 1, ' * 50_000),
        ("a.sh", "run --micro-batch-size 1 " + "$(" * 20_000),
        ("a.sh", "run --micro-batch-size 1 " + '"' + '$("' * 5_000),
        ("a.sh", 'A="--micro-batch-size 1"\n' + 'A="$A $A"\n' * 40 + "run $A\n"),
        ("a.sh", "run --micro-batch-size 1 " + "--x y " * 30_000),
        ("a.sh", "run --micro-batch-size 1 'never closed\n"),
        ("a.sh", "A=$A\nB=$C\nC=$B\nrun --micro-batch-size $B --tensor-model-parallel-size $A\n"),
        ("a.toml", "[parallelism]\ntensor_parallel_degree = 8\nx = " + "[" * 3000),
        ("a.py", "import torchtitan\nx = " + "(" * 3000 + "1" + ")" * 3000),
        ("a.py", "import torchtitan\nx = " + "T(a=" * 90 + "1" + ")" * 90),
    ],
    ids=lambda value: repr(value)[-24:],
)
def test_an_attack_ends_in_one_line_or_in_a_whole_file(path: str, text: str) -> None:
    adapter = adapter_for(path, text)
    if adapter is None:
        return
    try:
        result = adapter.render(text, CHANGES, {"dp": 8}, path)
    except AdapterError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 400
    else:
        assert adapter.recognises(path, result.text)


@settings(max_examples=150, deadline=None)
@given(
    path=st.sampled_from(sorted(SAMPLES)), cut=st.integers(0, 2000), junk=st.text(max_size=12), at=st.integers(0, 2000)
)
@example(path="fsdp1.yaml", cut=309, junk="?", at=308)  # a key that YAML marks with `?`, without a value
def test_torn_and_dirtied_files_never_crash(path: str, cut: int, junk: str, at: int) -> None:
    text = SAMPLES[path][0]
    text = (text[:at] + junk + text[at:])[: max(cut, 40)]
    for adapter in ADAPTERS:
        if adapter.recognises(path, text):
            try:
                new = adapter.render(text, CHANGES, {"dp": 8}, path).text
            except AdapterError as error:
                assert "\n" not in str(error)
            else:
                unified(path, text, new)


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_bytes_come_back_as_they_were(data: bytes) -> None:
    try:
        text = decoded(data)
    except AdapterError:
        return
    assert encoded(text) == data


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"\x7fELF\0\0\0", "binary"), ("a: 1\n".encode("utf-16"), "UTF-16"), (b"\xfe\xff\x00a", "UTF-16")],
)
def test_what_is_no_utf8_text_is_said(data: bytes, says: str) -> None:
    with pytest.raises(AdapterError, match=says):
        decoded(data)


def test_latin1_comments_are_kept_byte_for_byte() -> None:
    data = "# Größe\nrun --tensor-model-parallel-size 8\n".encode("latin-1")
    text = decoded(data)
    adapter = adapter_for("a.sh", text)
    assert adapter is not None
    assert encoded(adapter.render(text, {"tp": 4}, path="a.sh").text) == data.replace(b"8", b"4")


def test_a_giant_file_is_nobodys() -> None:
    assert adapter_for("a.sh", "run --micro-batch-size 1 \n" * 100_000) is None


def test_duplicate_keys_of_yaml_are_changed_where_the_last_counts() -> None:
    text = "model:\n  tensor_model_parallel_size: 2\n  tensor_model_parallel_size: 8\n"
    adapter = adapter_for("a.yaml", text)
    assert adapter is not None
    assert adapter.render(text, {"tp": 4}, path="a.yaml").text == text.replace("8", "4")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tp": 0}, "tp is '0'; right would be"),
        ({"tp": "many"}, "tp is 'many'"),
        ({"tpp": 4}, "'tpp' is no setting of the planner"),
        ({"zero_stage": 7}, "right would be 0, 1, 2 or 3"),
        ({"num_workers": -1}, "num_workers is '-1'"),
        ({"manual_gc": "perhaps"}, "right would be true or false"),
        ({"env.A": "x\ny"}, "right would be one line"),
        ({"recompute_modules": ["rm -rf /"]}, "recompute_modules"),
    ],
)
def test_values_without_sense_give_one_line(changes: dict[str, Any], says: str) -> None:
    text = SAMPLES["pretrain.sh"][0]
    adapter = adapter_for("pretrain.sh", text)
    assert adapter is not None
    with pytest.raises(PlanError) as raised:
        adapter.render(text, changes, path="pretrain.sh")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_value_cannot_break_out_of_a_command() -> None:
    text = "run --micro-batch-size 1\n"
    adapter = adapter_for("a.sh", text)
    assert adapter is not None
    after = adapter.render(text, {"env.X": "a'; rm -rf / #"}, path="a.sh").text
    assert after == "export X='a'\"'\"'; rm -rf / #'\nrun --micro-batch-size 1\n"


def test_a_name_that_no_patch_can_hold_is_said() -> None:
    with pytest.raises(AdapterError, match="no file name"):
        unified("a\nb", "x", "y")
