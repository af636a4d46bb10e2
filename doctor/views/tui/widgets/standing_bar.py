"""How the job stands that is watched, in two lines: drawn anew each second, and never higher or lower."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual.widget import Widget

from doctor.views.watch_text import BETWEEN, clock

if TYPE_CHECKING:
    from doctor.views.tui.app import PdoctorApp

EVERY = 1.0
"""Seconds between two looks."""


class StandingBar(Widget):
    """The second line says when the job last wrote, until there is news that nobody has looked at."""

    DEFAULT_CSS = "StandingBar { height: 2; padding: 0 1; background: $boost; }"

    def on_mount(self) -> None:
        self.set_interval(EVERY, self.refresh)

    def render(self) -> Text:
        from doctor.views.standing import how_it_stands, what_it_wrote

        app = cast("PdoctorApp", self.app)
        now = app.watching.standing if app.watching else None
        if now is None:
            return Text(app.say("watch.begun"), "dim")
        lines = [how_it_stands(now, app.lang), self._news(app) or what_it_wrote(now, app.lang)]
        for line in lines:
            line.truncate(max(self.size.width, 1), overflow="ellipsis")
        return Text("\n").join(lines)

    def _news(self, app: PdoctorApp) -> Text:
        """What came and was not looked at: findings, then the latest remark."""
        line, watching = Text(), app.watching
        if watching is not None and watching.new:
            since = clock(min(watching.new.values()))[:5]
            line.append(f"● {app.say('watch.news', n=len(watching.new), since=since)}", "bold yellow")
            line.append(f"  [.] {app.say('tui.key.newest')}")
        if watching is not None and watching.remarks:
            count = len(watching.remarks)
            line.append(BETWEEN if line else "", "dim").append("[t] ")
            line.append(app.say("watch.remarks", n=count) if count > 1 else "").append(watching.remarks[-1][app.lang])
        return line
