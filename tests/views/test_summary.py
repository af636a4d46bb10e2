"""What a report is in one sentence where no cause was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.session.analyze import analyze_paths
from doctor.views.present import summary

GONE = (
    '[rank7]:[W624 12:52:07.296197118 ProcessGroupNCCL.cpp:1659] [PG ID 0 PG GUID 0 Rank 7] Failed to check the "should dump" '
    "flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe\n"
)


def told(folder: Path, log: str, lang: str = "en") -> str:
    (folder / "job.log").write_text(log)
    return summary(analyze_paths([folder]), lang)


def test_consequences_alone_lead_to_the_other_logs(tmp_path: Path) -> None:
    one = told(tmp_path, "loading\n" + GONE * 3)
    assert "job.log:2" in one and "TCP store" in one and one.endswith("Look at the logs of the other ranks and nodes.")
    assert "请查看其他 rank" in told(tmp_path, GONE, "zh")


@pytest.mark.parametrize("log", ["hello\n", ""])
def test_where_nothing_is_known_there_is_too_little(tmp_path: Path, log: str) -> None:
    (tmp_path / "other.log").write_text("good morning\n")
    assert told(tmp_path, log) == "There is too little to judge by."


def test_consequences_after_steps_are_no_failure(tmp_path: Path) -> None:
    steps = "".join(f"iter {i}: loss 3.{i}, time 412.10ms, mfu 41.20%\n" for i in range(10, 40, 10))
    assert told(tmp_path, steps + GONE).startswith("Nothing in it shows a failure")
