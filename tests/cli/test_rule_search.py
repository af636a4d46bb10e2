from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.rulebase.load import rules_folder

OOM = (
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 3 has a total capacity of "
    "79.10 GiB of which 911.25 MiB is free. Of the allocated memory 60.00 GiB is allocated by PyTorch, and "
    "15.00 GiB is reserved by PyTorch but unallocated."
)
SEARCH = "from doctor.cli.main import main; main()"


def test_a_pasted_line_leads_to_the_rules_that_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "search", OOM]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("MEM003  +4.5")
    assert "line 1:" in shown[1] and "(torch.cuda_oom)" in shown[1]
    weights = [float(found[1]) for line in shown if (found := re.match(r"\w+ +([+-][\d.]+) ", line))]
    assert weights == sorted(weights, reverse=True) and len(weights) == 10


def test_the_place_is_the_line_of_the_signal(capsys: pytest.CaptureFixture[str]) -> None:
    run(["rules", "search", OOM, "-n", "1"])
    path, _, line = capsys.readouterr().out.splitlines()[2].strip().rpartition(":")
    assert (rules_folder().parent / path).read_text().splitlines()[int(line) - 1] == "  cached:"


def test_what_the_line_contradicts_does_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    run(["rules", "search", OOM.replace("15.00 GiB is reserved", "0.10 GiB is reserved")])
    assert not capsys.readouterr().out.startswith("MEM003  +4.5")


def test_lines_over_standard_input_are_told_by_their_number() -> None:
    command = [sys.executable, "-c", SEARCH, "rules", "search", "-", "-n", "1", "--lang", "zh"]
    done = subprocess.run(command, input=f"step 1\n\n{OOM}\n", capture_output=True, text=True)
    assert done.returncode == 0
    assert "第 3 行" in done.stdout


def test_words_lead_to_rules_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "search", "allocator", "fragmentation"]) == 0
    assert capsys.readouterr().out.startswith("MEM003 ")


def test_nothing_found_is_said_with_what_may_have_been_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "search", "alocator", "fragmentaton"]) == 2
    assert "did you mean: allocator fragmentation" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["\x1b[2J", "", "(", "a" * 100_000, "\udcff"])
def test_hostile_text_ends_in_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "search", text]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and "\x1b" not in shown


def test_rules_of_a_folder_are_found_with_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["rules", "new", "MEM900", "mine", "--cause", "allocator-fragmentation", "--into", str(tmp_path)])
    capsys.readouterr()
    assert run(["rules", "search", "MEM900", "--rules", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("MEM900 ")
