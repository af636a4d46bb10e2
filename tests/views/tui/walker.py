"""Runs the terminal interface without a terminal: what a person would press, click and see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from doctor.rulebase.load import load_rulebase
from doctor.session.answers import Answers
from doctor.session.collecting import Files, Source
from doctor.session.saved import Saved
from doctor.views.tui.app import PdoctorApp
from doctor.views.tui.step import StepScreen
from doctor.views.tui.widgets.page_view import PageView
from doctor.views.tui.widgets.rows import Rows

FIXTURES = Path(__file__).parents[3] / "fixtures"
SAMPLE = FIXTURES / "sample" / "job"
JOBS = {"oom": SAMPLE, **{name: FIXTURES / "jobs" / name / "job" for name in ("hang", "slow_moe")}}
WAIT, TURNS = 0.02, 3000


class Walker:
    """A person at the screen."""

    def __init__(self, app: PdoctorApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, true: Callable[[], object]) -> None:
        """Waits until something holds; fails when it never does."""
        for _ in range(TURNS):
            if true():
                await self.pilot.pause()
                return
            await self.pilot.pause(WAIT)
        raise AssertionError("never came to pass")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    @property
    def step(self) -> str:
        return self.app.screen.step if isinstance(self.app.screen, StepScreen) else ""

    @property
    def screen(self) -> str:
        """All that is to be seen, as text."""
        return "\n".join(line.text for line in self.app.screen._compositor.render_strips())

    def rows(self, name: str) -> Rows:
        return self.app.screen.query_one(name, Rows)

    def page(self, name: str) -> str:
        return "\n".join(self.app.screen.query_one(name, PageView).lines)

    async def click_row(self, name: str, key: str) -> None:
        """Clicks the row that stands for `key`."""
        rows = self.rows(name)
        at = next(number for number, row in enumerate(rows.rows) if row.key == key)
        await self.pilot.click(name, offset=(6, at - int(rows.scroll_offset.y)))
        await self.pilot.pause()

    async def click_step(self, number: int) -> None:
        """Clicks a step in the bar at the top."""
        bar = self.app.screen.query_one("StepBar").render().plain  # type: ignore[attr-defined]
        await self.pilot.click("StepBar", offset=(bar.index(f" {number} ") + 1, 0))
        await self.pilot.pause()


def walk(
    act: Callable[[Walker], Awaitable[None]],
    paths: tuple[str, ...] = (str(SAMPLE),),
    *,
    folder: Path,
    lang: str = "en",
    size: tuple[int, int] = (120, 40),
    source: Source | None = None,
    ready: bool = True,
    saved: Saved | None = None,
) -> PdoctorApp:
    """Opens the interface on `paths`, waits until all is read, and does what `act` does; gives the app after it."""
    app = PdoctorApp(
        source or Files(load_rulebase(()), paths), saved.answers if saved else Answers(), lang, folder, saved
    )

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            walker = Walker(app, pilot)
            if ready:
                await walker.until(lambda: app.session is not None or app.failure)
            await act(walker)

    asyncio.run(run())
    return app
