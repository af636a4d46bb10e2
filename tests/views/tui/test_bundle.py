"""A bundle for somebody else is written from the last step."""

from __future__ import annotations

from pathlib import Path

from doctor.session.analyze import analyze_paths
from tests.views.tui.walker import SAMPLE, Walker, walk


def test_the_bundle_says_what_the_job_said(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("7")
        await person.click_row("#kinds", "bundle")
        await person.until(lambda: person.app.written)
        assert "pdoctor-bundle.tar.zst" in person.app.written[0]

    walk(act, folder=tmp_path)
    there = analyze_paths([tmp_path / "pdoctor-bundle.tar.zst"]).diagnosis
    assert [root.rule.id for root in there.roots] == [root.rule.id for root in analyze_paths([SAMPLE]).diagnosis.roots]
