"""An exception is shown with the frame of the job's own code, whatever stack of a library lies on it."""

from __future__ import annotations

import html as entities
import json
from io import StringIO
from pathlib import Path

import pytest

from doctor.session.analyze import analyze_paths
from doctor.session.report import Report
from doctor.views import json as json_view
from doctor.views import markdown
from doctor.views.html import page
from doctor.views.page import Page
from doctor.views.present import summary
from doctor.views.watch_text import announce
from tests.reports import text
from tests.session.watch.replay import Replay

FRAME = "/work/train.py:14 in step: model(batch)"
STACK = """\
[rank2]: Traceback (most recent call last):
[rank2]:   File "/work/train.py", line 14, in step
[rank2]:     model(batch)
"""
LIBRARY = """\
[rank2]:   File "/opt/venv/lib/python3.11/site-packages/odd/layers.py", line 34, in forward
[rank2]:     return self.odd(input)
"""
LAST = "[rank2]: odd.OddnessError: 7 is not odd enough\n"
LOG = "[rank2]: starting\n" + STACK + LIBRARY * 9 + LAST


def analyzed(folder: Path, log: str = LOG) -> Report:
    (folder / "job.log").write_text(log)
    return analyze_paths([folder])


def test_the_summary_says_what_was_raised_and_where(tmp_path: Path) -> None:
    told = summary(analyzed(tmp_path), "en")
    assert "odd.OddnessError at /work/train.py:14 in step" in told and "job.log:23 (rank 2)" in told


def test_a_stack_of_libraries_alone_is_told_by_its_line(tmp_path: Path) -> None:
    told = summary(analyzed(tmp_path, LOG.replace(STACK, STACK.splitlines(keepends=True)[0])), "en")
    assert told.startswith("A failure shows, but no rule explains it.")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_report_shows_the_frame(tmp_path: Path, lang: str) -> None:
    report = analyzed(tmp_path)
    assert f"↑ {FRAME}" in text(report, lang)
    assert f"↑ {FRAME}" in markdown.render(report, lang)
    assert FRAME in entities.unescape(page.render(report, lang))
    proofs = json.loads(json_view.render(report, lang))["unexplained"]
    assert [proof["own_frame"] for proof in proofs] == [FRAME]


def test_so_does_what_is_said_of_a_running_job(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("job.log", LOG)
    replay.turns(8)
    file = StringIO()
    announce(replay.said[0], "en", Page(100)).print(file, color=False)
    assert f"↑ {FRAME}" in file.getvalue()
