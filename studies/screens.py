"""The screens of docs/tour: three dead jobs, each from its finding to the change of its launch script.

`python -m studies.screens docs/tour` writes them anew, from the root of the repository.
"""

from __future__ import annotations

import asyncio
import html
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from doctor.rulebase.load import load_rulebase
from doctor.session.answers import Answers
from doctor.session.collecting import Files
from doctor.views.tui.app import PdoctorApp

ROOT = Path(__file__).parents[1]
SIZE, TURNS = (120, 34), 3000
THEME = "pdoctor-dark"
JOBS = {"oom": "fixtures/sample/job", "hang": "fixtures/jobs/hang/job", "slow": "fixtures/jobs/slow_moe/job"}
WALKS = {
    "oom": (("3", "proof"), ("5", "plan"), ("6", "change")),
    "hang": (("2", "findings"), ("3", "proof"), ("6", "change")),
    "slow": (("3", "proof"), ("6", "change")),
}
"""The keys pressed one after the other, each with the name of the screen that is there then."""


def pictures(job: str) -> dict[str, str]:
    """The screens of a job by file name."""
    taken: dict[str, str] = {}

    async def act(folder: Path) -> None:
        app = PdoctorApp(Files(load_rulebase(()), (JOBS[job],)), Answers(), "en", folder)
        async with app.run_test(size=SIZE) as pilot:
            app.theme = THEME
            for _ in range(TURNS):
                if app.session is not None or app.failure:
                    break
                await pilot.pause(0.02)
            for key, name in WALKS[job]:
                await pilot.press(key)
                await pilot.pause(0.2)
                taken[f"{job}-{name}.svg"] = plain(app.export_screenshot(title="pdoctor"))

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(act(Path(folder)))
    return taken


def plain(svg: str) -> str:
    """The picture without what differs from run to run, and without fonts from elsewhere."""
    svg = re.sub(r"terminal-\d+-", "t-", svg)
    svg = re.sub(r"\s*@font-face \{[^}]*\}", "", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def words(svg: str) -> frozenset[str]:
    """The words that a picture shows."""
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    return frozenset(re.findall(r"[A-Za-z]{4,}", html.unescape(shown).replace("\xa0", " ")))


def every() -> Iterator[tuple[str, str]]:
    for job in JOBS:
        yield from pictures(job).items()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in every():
        (folder / name).write_text(svg, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
