"""YAML, JSON, TOML and Python: values change in place, new ones stand where a person would write them."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from ruamel.yaml import YAML

from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Syntax
from doctor.adapters.registry import adapter_named
from doctor.adapters.syntax.json_file import JsonFile
from doctor.adapters.syntax.python_file import PythonFile
from doctor.adapters.syntax.toml_file import TomlFile
from doctor.adapters.syntax.yaml_file import YamlFile


def put(syntax: Syntax, text: str, key: str, value: Any) -> str:
    """Replace the setting `key`, or add it beside the others."""
    entries = syntax.entries(text)
    found = [entry for entry in entries if entry.key == key]
    return syntax.replace(text, found[-1], value) if found else syntax.add(text, key, value, entries)


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("a: 1\n", "a", 2, "a: 2\n"),
        ("a: 1 # why\n", "a", 2, "a: 2 # why\n"),
        ("a: '1'\n", "a", 2, "a: '2'\n"),
        ("a: True\n", "a", False, "a: False\n"),
        ("a:\n", "a", 2, "a: 2\n"),
        ("a:  # nothing yet\nb: 1\n", "a", 2, "a: 2  # nothing yet\nb: 1\n"),
        ("a: &x 1\nb: *x\n", "a", 2, "a: &x 2\nb: *x\n"),
        ("a: !!int 1\n", "a", 2, "a: !!int 2\n"),
        ("s:\n    a: 1\nt: 1\n", "s.b", 2, "s:\n    a: 1\n    b: 2\nt: 1\n"),
        ("s: {a: 1, b: 2} # flow\n", "s.c", 3, "s: {a: 1, b: 2, c: 3} # flow\n"),
        ("s: {}\n", "s.c", 3, "s: {c: 3}\n"),
        ("s:\nt: 1\n", "s.c", 3, "s:\n  c: 3\nt: 1\n"),
        ("s: null\nt: 1\n", "s.c", 3, "s:\n  c: 3\nt: 1\n"),
        ("t: 1\n", "s.c", 3, "t: 1\ns:\n  c: 3\n"),
        ("t: 1", "s.c", 3, "t: 1\ns:\n  c: 3\n"),
        ("---\nt: 1\n...\n", "s.c", 3, "---\nt: 1\ns:\n  c: 3\n...\n"),
        ("a: 1\n", "a", 1e-05, "a: 1.0e-05\n"),  # YAML 1.1 reads 1e-05 as a word
        ("a: off\n", "a", "no", 'a: "no"\n'),
        ("a: [1, 2] # l\n", "a", ("x", "y"), "a: [x, y] # l\n"),
        ("名: 1\nb: 2\n", "b", 3, "名: 1\nb: 3\n"),
    ],
)
def test_yaml(before: str, key: str, value: Any, after: str) -> None:
    assert put(YamlFile(), before, key, value) == after
    assert YAML(typ="safe").load(after) is not None


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ('{"a": 1}', "a", 2, '{"a": 2}'),
        ('{"a": 1}', "b", True, '{"a": 1, "b": true}'),
        ('{\n  "a": 1\n}\n', "b", 2, '{\n  "a": 1,\n  "b": 2\n}\n'),
        ('{\n  "a": {"x": 1}\n}\n', "b", 2, '{\n  "b": 2,\n  "a": {"x": 1}\n}\n'),
        ('{\n  "a": {"x": 1}\n}\n', "a.y", "z", '{\n  "a": {"x": 1, "y": "z"}\n}\n'),
        ('{\n  "a": 1\n}\n', "s.t.u", 2, '{\n  "a": 1,\n  "s": {\n    "t": {\n      "u": 2\n    }\n  }\n}\n'),
        ("{}", "a", 2, '{\n    "a": 2\n}'),
        ('{"a": {}}', "a.b", 2, '{"a": {\n    "b": 2\n}}'),
        ('{"a": [1, {"b": 1}], "b": 3}', "b", 2, '{"a": [1, {"b": 1}], "b": 2}'),
    ],
)
def test_json(before: str, key: str, value: Any, after: str) -> None:
    assert put(JsonFile(), before, key, value) == after
    assert json.loads(after)


def test_json_with_comments_and_trailing_commas_keeps_them() -> None:
    text = '{\n  // first\n  "a": 1, // one\n  "b": 2, /* two */\n}\n'
    assert put(JsonFile(), text, "c", 3) == '{\n  // first\n  "a": 1, // one\n  "b": 2, /* two */\n  "c": 3,\n}\n'
    assert put(JsonFile(), '{\n  "a": 1 // one\n}\n', "c", 3) == '{\n  "a": 1, // one\n  "c": 3\n}\n'


@pytest.mark.parametrize("gone", ["a", "b", "c"])
def test_what_is_taken_out_of_json_leaves_json(gone: str) -> None:
    for text in ('{"a": 1, "b": 2, "c": 3}', '{\n "a": 1,\n "b": 2,\n "c": 3\n}\n'):
        entry = next(entry for entry in JsonFile().entries(text) if entry.key == gone)
        assert set(json.loads(JsonFile().remove(text, entry))) == {"a", "b", "c"} - {gone}


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("[s]\na = 1 # why\n", "s.a", 2, "[s]\na = 2 # why\n"),
        ('[s]\na = "x#y" # why\n', "s.a", "z", '[s]\na = "z" # why\n'),
        ("[s]\na = 1\n\n[t]\nb = 1\n", "s.c", True, "[s]\na = 1\nc = true\n\n[t]\nb = 1\n"),
        ("[s]\n\n[t]\nb = 1\n", "s.c", 2, "[s]\nc = 2\n\n[t]\nb = 1\n"),
        ("[s]\na = 1\n", "t.c", 2, "[s]\na = 1\n\n[t]\nc = 2\n"),
        ("[s]\na = 1", "s.c", 2, "[s]\na = 1\nc = 2"),
        ('[s]\nm = """\na = 5\n"""\na = 1\n', "s.a", 2, '[s]\nm = """\na = 5\n"""\na = 2\n'),
    ],
)
def test_toml(before: str, key: str, value: Any, after: str) -> None:
    assert put(TomlFile(), before, key, value) == after
    assert tomllib.loads(after)


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("c.s.a = 1  # why\n", "c.s.a", 2, "c.s.a = 2  # why\n"),
        ("def f():\n    c.s.a = 1\n    return c\n", "s.b", 2, "def f():\n    c.s.a = 1\n    c.s.b = 2\n    return c\n"),
        ("x = T(s=S(a=1))\n", "s.b", 2, "x = T(s=S(a=1, b=2))\n"),
        ("x = T(\n    s=S(\n        a=1,  # one\n    ),\n)\n", "s.b", "y", 'x = T(\n    s=S(\n        a=1,  # one\n        b="y",\n    ),\n)\n'),
        ("x = T(\n    s=S(\n        a=1\n    ),\n)\n", "s.b", 2, "x = T(\n    s=S(\n        a=1,\n        b=2,\n    ),\n)\n"),
        ("ü = 'ö'; c.s.a = 'é'\n", "c.s.a", "e", "ü = 'ö'; c.s.a = \"e\"\n"),
    ],
)  # fmt: skip
def test_python(before: str, key: str, value: Any, after: str) -> None:
    assert put(PythonFile(), before, key, value) == after
    compile(after, "recipe.py", "exec")


def test_python_with_several_recipes_asks_which_one_runs() -> None:
    text = (
        "from torchtitan.config import ParallelismConfig\n"
        "def a():\n    return ParallelismConfig(tensor_parallel_degree=8)\n"
        "def b():\n    return ParallelismConfig(tensor_parallel_degree=2)\n"
    )
    adapter = adapter_named("torchtitan")
    unclear = adapter.render(text, {"tp": 4}, path="r.py")
    assert unclear.text == text
    assert "2 recipes: a (line 3), b (line 5)" in unclear.left[0].en
    assert adapter.render(text, {"tp": 4}, {"recipe": "b"}, "r.py").text == text.replace("=2", "=4")


def test_an_import_that_a_new_expression_needs_is_said() -> None:
    text = (
        "from torchtitan.distributed.activation_checkpoint import SelectiveAC\n"
        "def a():\n    return Trainer.Config(activation_checkpoint=SelectiveAC.Config())\n"
    )
    result = adapter_named("torchtitan").render(text, {"recompute": "full"}, path="r.py")
    assert "activation_checkpoint=FullAC.Config()" in result.text
    assert "import FullAC" in result.notes[0].en


@pytest.mark.parametrize(
    ("syntax", "text", "says"),
    [
        (YamlFile(), "a: [1\nb: 2\n", "not valid YAML"),
        (YamlFile(), "- 1\n- 2\n", "no mapping"),
        (JsonFile(), '{"a": 1', "the file ends inside"),
        (JsonFile(), '{"a": 1}}', "closes nothing"),
        (TomlFile(), "[s]\na = = 1\n", "not valid TOML"),
        (PythonFile(), "def f(:\n", "line 1: not valid Python"),
    ],
)
def test_a_broken_file_gives_one_line(syntax: Syntax, text: str, says: str) -> None:
    with pytest.raises(AdapterError, match=says) as raised:
        syntax.entries(text)
    assert "\n" not in str(raised.value)


def test_a_byte_order_mark_stays() -> None:
    text = "\ufeffmodel:\n  tensor_model_parallel_size: 8\n"
    assert adapter_named("nemo").render(text, {"tp": 4}, path="a.yaml").text == text.replace("8", "4")
