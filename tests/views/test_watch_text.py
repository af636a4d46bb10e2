"""What is said of a watched job as text: what, where, which line, which fix; one line for how it stands."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest

from doctor.session.watch.model import Announcement, Kind, Status
from doctor.views.page import Page
from doctor.views.watch_text import announce, status_line
from tests.session.watch.replay import Replay
from tests.session.watch.test_watch import OOM, RESET, steps


def shown(said: Announcement, lang: str = "en", width: int = 100) -> list[str]:
    file = StringIO()
    announce(said, lang, Page(width)).print(file, color=False)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[Announcement]:
    replay = Replay(tmp_path_factory.mktemp("job"))
    replay.write("job.log", steps(2, 1, 9) + OOM)
    replay.turns(3)
    replay.write("job.log", "".join(RESET.format(rank=rank) for rank in range(64) if rank != 2))
    replay.turns(4)
    return replay.said


def test_a_finding_is_a_few_lines(said: list[Announcement]) -> None:
    lines = shown(said[0])
    assert "✗ fatal  MEM" in lines[0]
    assert lines[1].split() == ["where", "rank", "2"]
    assert lines[2].split() == ["evidence", "job.log:12"]
    assert any(line.startswith("  fix  ") for line in lines)
    assert len(lines) <= 8


def test_one_that_no_longer_holds_is_one_line(said: list[Announcement]) -> None:
    (line,) = shown(replace(said[0], kind=Kind.RESOLVED), width=200)
    assert "✓ no longer so  MEM" in line and line.endswith("(rank 2)")
    (line,) = shown(replace(said[0], kind=Kind.RESOLVED, entities=("job",), episode=3), "zh", width=200)
    assert "✓ 不再成立  第 3 次尝试  MEM" in line and not line.endswith(")")


def test_in_chinese(said: list[Announcement]) -> None:
    assert "致命" in shown(said[0], "zh")[0]


def test_a_storm_is_one_line(said: list[Announcement]) -> None:
    lines = shown(replace(said[-1], kind=Kind.STORM, count=1023))
    assert len(lines) == 1
    assert "1,023 messages" in lines[0]


def test_how_the_job_stands() -> None:
    status = Status(0.0, 7, 1, 5123, 4.8, 0.43, 0.78, 2, 12034, 900_000, 8)
    line = status_line(status, "en").partition(" · ")[2]
    assert (
        line
        == "8 ranks (1 silent) · step 5,123 · 4.80 s/step · MFU 43% · memory 78% · 2 findings · 12,034 lines, 8 files"
    )
    assert status_line(Status(0.0, lines=1), "en").endswith("nothing wrong so far · 1 line, 0 files")
    assert "未见异常" in status_line(Status(0.0, lines=1), "zh")


def test_what_nobody_has_heard_of_is_not_said_to_be_well() -> None:
    assert status_line(Status(0.0), "en").endswith("nothing was written yet · 0 lines, 0 files")
    assert status_line(Status(0.0, bytes=3 << 20, files=1), "en").endswith(
        "no line of text yet in 3.0 MiB · 0 lines, 1 file"
    )
