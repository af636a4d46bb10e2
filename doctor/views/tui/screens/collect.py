"""What is being looked at, what could not be, and what was read so far."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.containers import Horizontal
from textual.widget import Widget

from doctor.messages_probes import translated
from doctor.session.item import Item
from doctor.views.page import Page
from doctor.views.safe import visible
from doctor.views.tui.screens.ask_path import AskPath
from doctor.views.tui.step import Key, StepScreen
from doctor.views.tui.widgets.page_view import PageView
from doctor.views.tui.widgets.rows import Row, Rows

SYMBOLS = {"running": ("▸", "bold"), "done": ("✓", "blue"), "partial": ("!", "yellow"), "failed": ("–", "yellow")}
BAR, SECONDS = 8, 9
COLUMN = 12


class CollectScreen(StepScreen):
    step = "collect"
    _looked = False
    KEYS: ClassVar[tuple[Key, ...]] = (
        Key("a", "add", "add"),
        Key("r", "again", "again"),
        Key("s", "skip", "skip"),
        Key("enter", "app.next", "next", show=False),
    )
    DEFAULT_CSS = """
    CollectScreen Rows { width: 1fr; }
    CollectScreen PageView { width: 1fr; border-left: solid $panel; }
    """

    def body(self) -> Iterable[Widget]:
        yield Horizontal(Rows(id="items"), PageView(id="read"), classes="body")

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        """Seconds go on."""
        if self.pdoctor.looking:
            self.query_one("#items", Rows).refresh()

    def fill(self) -> None:
        if self._looked != self.pdoctor.looking:  # another key can be pressed; more often it would flicker
            self._looked = self.pdoctor.looking
            self.refresh_bindings()
        items = list(self.pdoctor.items.values())
        rows = [Row(item.name, partial(self._line, item), item.name) for item in items]
        self.query_one("#items", Rows).show(rows)
        self.query_one("#read", PageView).show(self._read)

    def hint(self) -> str:
        if self.pdoctor.looking:
            return self.say("tui.hint.collecting")
        if self.pdoctor.failure:
            return self.say("tui.hint.nothing" if self.session is None else "tui.hint.nothing_more")
        return self.say("tui.hint.collected")

    def _line(self, item: Item, width: int) -> Text:
        symbol, style = SYMBOLS[item.state]
        line = Text().append(f"{symbol} ", style)
        line.append(visible(item.name), "")
        told = f"{item.seconds:.1f} s" if item.seconds is not None else ""
        if item.state == "running" and item.most:
            told = self.say("tui.collect.running", done=f"{self.pdoctor.waited:.0f}", most=f"{item.most:.0f}")
        if item.state == "running" and item.total > 1:
            done = BAR * item.done // item.total
            told = f"{item.done}/{item.total} {'█' * done}{'░' * (BAR - done)}"
        line.truncate(max(width - max(SECONDS, cell_len(told)) - 1, 8), overflow="ellipsis")
        line.pad_right(max(width - line.cell_len - cell_len(told) - 1, 1))
        return line.append(told, "dim")

    def _read(self, page: Page) -> None:
        if self.pdoctor.failure:
            page.wrapped(self.say("tui.collect.failed", reason=self.pdoctor.failure), style="bold red")
            page.blank()
        current = self.pdoctor.items.get(self.query_one("#items", Rows).key)
        if current is not None and current.reasons:
            page.wrapped(Text(visible(current.name), "bold"))
            for reason in current.reasons:
                page.wrapped(translated(reason, self.pdoctor.lang), indent=2, hang=2)
            page.blank()
        session = self.session
        if session is None or self.pdoctor.looking:
            return
        from doctor.views import coverage, present

        report, lang = session.report, self.pdoctor.lang
        page.wrapped(Text(self.say("tui.collect.read"), "bold"))
        for line in coverage.checked(report, lang):
            page.wrapped(line, indent=2, hang=2)
        page.blank()
        page.wrapped(present.summary(report, lang), style="bold")
        self._gaps(page, current)

    def _gaps(self, page: Page, told: Item | None) -> None:
        """What could not be seen, and why; the item under the cursor was told above."""
        missed = [item for item in self.pdoctor.items.values() if item.reasons and item is not told]
        if missed:
            page.blank()
            page.wrapped(Text(self.say("tui.collect.gaps"), "bold"))
        for item in missed:
            reasons = self.say("list.and").join(translated(reason, self.pdoctor.lang) for reason in item.reasons)
            page.wrapped(f"{item.name}: {reasons}", indent=2, hang=2, style="dim")

    @on(Rows.Moved, "#items")
    def _moved(self) -> None:
        self.query_one("#read", PageView).again()

    @on(Rows.Chosen, "#items")
    def _chosen(self) -> None:
        self.pdoctor.action_next()

    def action_add(self) -> None:
        def given(path: str | None) -> None:
            if path:
                self.pdoctor.add(path)

        self.app.push_screen(AskPath(self.pdoctor.lang), given)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is being looked at can be skipped; a job that is watched is looked at all the time."""
        if action == "again" and self.pdoctor.watching is not None:
            return False
        if action == "skip" and not (self.pdoctor.looking and self.pdoctor.source.node):
            return False
        return super().check_action(action, parameters)

    def action_skip(self) -> None:
        self.pdoctor.source.skip(self.query_one("#items", Rows).key)

    def action_again(self) -> None:
        self.pdoctor.collect()
