"""Every remark that a probe gives is known in Chinese: the places that give one are walked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.messages_probes import translated
from doctor.session.node import known_probes
from probes.live.collectives.measure import SHARED

PROBES = Path(__file__).parents[2] / "probes"
RAISED = (
    "LoadError",
    "DumpError",
    "ParquetError",
    "StackError",
    "LayoutError",
    "BenchError",
    "SystemExit",
    "LookupError",
)
CHINESE = re.compile(r"[\u4e00-\u9fff]")
FILLED = ("7", "x y", "x=7")
"""What stands in the places of a remark: a number, words, or an assignment."""


def as_said(node: ast.expr, filled: str) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else filled for part in parts)


def remarks() -> Iterator[tuple[str, ast.expr]]:
    """The remarks with which probes give up on a file or a rank; those for programs (no such key) are none."""
    for path in sorted(PROBES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
                for argument in node.args:
                    words = re.sub(r"\W|\d", " ", as_said(argument, "")).split()
                    if isinstance(argument, ast.Constant | ast.JoinedStr) and len(words) > 1:
                        yield f"{path.relative_to(PROBES)}:{argument.lineno}", argument


@pytest.mark.parametrize(("place", "remark"), tuple(remarks()))
def test_why_a_probe_gave_up_is_known_in_chinese(place: str, remark: ast.expr) -> None:
    assert any(CHINESE.search(translated(as_said(remark, filled), "zh")) for filled in FILLED), as_said(remark, "7")


@pytest.mark.parametrize("name", tuple(known_probes()))
def test_what_a_probe_looks_at_and_the_rights_it_needs_are_known_in_chinese(name: str) -> None:
    spec = known_probes()[name]
    assert CHINESE.search(translated(spec.looks_at, "zh"))
    assert not spec.privilege or CHINESE.search(translated(spec.privilege, "zh"))


def test_the_reason_within_a_remark_is_translated_too() -> None:
    remark = "what looks like a table of experts could not be read: has no columns of layer, expert and tokens"
    assert translated(remark, "zh").endswith("无法读取：没有层、专家、token 数这几列")
    assert translated("ranks 0-2: has its recorder switched off", "zh") == "rank 0-2：其记录器已关闭"
    assert translated("is no table: [Errno 5] x", "zh") == "不是表格：[Errno 5] x"


@pytest.mark.parametrize(
    "why",
    [
        "its process ended with exit status 1",
        "no sign of life within 10 s",
        "live, but not done within 30 s; the other ranks are",
        "all ranks live, and 3 wait for more than 30 s (x)",
        SHARED,
    ],
)
def test_why_a_test_has_no_figure_is_known_in_chinese(why: str) -> None:
    assert CHINESE.search(translated(why, "zh"))
