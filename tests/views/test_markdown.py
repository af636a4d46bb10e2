"""What is pasted into an issue: short, and nothing that a log says is live in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor.views.markdown import code, fenced, plain, render
from tests.reports import healthy_report, oom_report


def outside_of_code(document: str) -> str:
    """The document without its blocks and spans of code, as CommonMark takes it apart."""
    kept, fence = [], ""
    for line in document.splitlines():
        found = re.match(r"\s{0,3}(`{3,})", line)
        if fence:
            if found and line.strip() == fence:
                fence = ""
        elif found:
            fence = found[1]
        else:
            kept.append(line)
    assert not fence, "a block is left open"
    return re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", "\n".join(kept))


def test_the_answer_comes_first_and_then_the_proof_the_fix_and_what_next(tmp_path: Path) -> None:
    shown = render(oom_report(tmp_path), "en")
    wanted = [
        "## ✗ problem: 1 root cause",
        "### ✗ More model state than fits into GPU memory",
        "`rank 3 on node1`",
        "Weights, gradients",
        "`rank3.log:120`",
        "CUDA out of memory. Tried to allocate 2.50 GiB",
        "Halve the micro-batch",
        "Raise the NCCL timeout — the others only wait",
        "MEM003 The allocator is fragmented",
    ]
    places = [shown.find(part) for part in wanted]
    assert -1 not in places and places == sorted(places), shown


@pytest.mark.parametrize(
    "planted",
    ["@everybody look", "see #12 and https://evil.example/x", "```\n# heading\n```", "``````", "<img src=x>", "[a](b)"],
)
def test_nothing_that_a_log_or_its_name_says_is_live(tmp_path: Path, planted: str) -> None:
    line = f"torch.OutOfMemoryError: CUDA out of memory {planted}"
    shown = outside_of_code(render(oom_report(tmp_path, line, f"{planted} rank3.log"), "en"))
    assert not re.search(r"@everybody|#12|evil|heading|<img|\[a\]", shown), shown


def test_a_fence_is_longer_than_any_run_of_backticks_in_it() -> None:
    assert fenced(["a", "````"])[0] == "`````text"
    assert fenced(["```\n````"])[-1] == "`````"
    assert code("a ``b`` c") == "```a ``b`` c```"
    assert code("`") == "`` ` ``"
    assert plain("a*b_c") == r"a\*b\_c"
    assert plain("mail me@host") == "`mail me@host`"


def test_control_characters_are_shown_as_letters(tmp_path: Path) -> None:
    shown = render(oom_report(tmp_path, "CUDA out of memory \x1b[31m\u202e"), "en")
    assert "\x1b" not in shown and "\u202e" not in shown and r"\x1b[31m" in shown


def test_healthy_jobs_and_chinese_have_their_documents(tmp_path: Path) -> None:
    assert render(healthy_report(tmp_path), "en").startswith("## ✓ healthy")
    assert "## ✗ 有问题" in render(oom_report(tmp_path), "zh")
