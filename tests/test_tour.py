"""The tour shows what the program shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from studies.screens import JOBS, WALKS, pictures, words

ROOT = Path(__file__).parent.parent
TOUR = ROOT / "docs" / "tour.md"
ALIKE = 0.9
"""Share of words that a picture and the screen have in common; cut ends of lines may differ."""


@pytest.mark.parametrize("job", JOBS)
def test_the_pictures_are_those_of_today(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name, svg in pictures(job).items():
        now, then = words(svg), words((TOUR.parent / "tour" / name).read_text(encoding="utf-8"))
        alike = len(now & then) / len(now | then)
        assert alike >= ALIKE, f"{name} shows {sorted(now ^ then)}: run `make screens`"


def test_each_picture_is_shown_and_fetches_nothing() -> None:
    shown = set(re.findall(r"\]\(tour/([\w-]+\.svg)\)", TOUR.read_text(encoding="utf-8")))
    assert shown == {f"{job}-{name}.svg" for job, steps in WALKS.items() for _, name in steps}
    assert shown == set(os.listdir(TOUR.parent / "tour"))
    for name in shown:
        assert not re.findall(r"(?:href|src|url)\W+https?:", (TOUR.parent / "tour" / name).read_text(encoding="utf-8"))


def test_the_jobs_of_the_tour_are_there() -> None:
    walked = re.findall(r"^    pdoctor (?:ui|analyze) (\S+)$", TOUR.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(walked) == set(JOBS.values())
    assert all((ROOT / path / "train.sh").exists() for path in walked)
