"""The remedies to choose from, and the job before and after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.containers import Container
from textual.widget import Widget

from doctor.engine.model import Finding
from doctor.rulebase.model import Remedy
from doctor.session.session import remedies
from doctor.views import plan_report, present
from doctor.views.page import Page
from doctor.views.safe import visible
from doctor.views.text import STYLES
from doctor.views.tui.screens.findings import WIDE
from doctor.views.tui.step import Key, StepScreen
from doctor.views.tui.widgets.page_view import PageView
from doctor.views.tui.widgets.rows import Row, Rows, plain


class Remedies(Rows):
    """A click takes a remedy or drops it."""

    def clicked(self, key: str, again: bool) -> None:
        self.post_message(self.Marked(self, key))


class PlanScreen(StepScreen):
    step = "plan"
    KEYS: ClassVar[tuple[Key, ...]] = (Key("space,enter", "take", "take", "space"),)
    DEFAULT_CSS = """
    PlanScreen .body { layout: vertical; }
    PlanScreen #remedies { height: 2fr; }
    PlanScreen #effect { height: 3fr; }
    PlanScreen.-wide .body { layout: horizontal; }
    PlanScreen.-wide #remedies { width: 2fr; height: 1fr; }
    PlanScreen.-wide #effect { width: 3fr; height: 1fr; border-left: solid $panel; }
    """

    def body(self) -> Iterable[Widget]:
        effect = PageView(id="effect")
        effect.add_class("titled")
        yield Container(Remedies(id="remedies"), effect, classes="body")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE, "-wide")

    def fill(self) -> None:
        rows = list(self._rows())
        self.query_one("#remedies", Rows).show(rows)
        self.query_one("#remedies", Rows).display = bool(rows)
        effect = self.query_one("#effect", PageView)
        effect.border_title = self.say("tui.plan.effect")
        effect.show(self._effect)

    def hint(self) -> str:
        some = self.session is not None and any(True for _ in remedies(self.session.report))
        return self.say("tui.hint.plan" if some else "tui.hint.plan.none")

    def _rows(self) -> Iterator[Row]:
        session, lang = self.session, self.pdoctor.lang
        if session is None:
            return
        taken, last = set(session.taken), ""
        for name, remedy, root in remedies(session.report):
            if root.rule.id != last:
                last, severity = root.rule.id, str(root.severity)
                head = Text().append(f"{present.SYMBOLS[severity]} ", STYLES[severity])
                yield plain("", head.append(f"{last}  {visible(root.rule.title.get(lang))}", "bold"))
            line = Text("  ").append("[x] " if name in taken else "[ ] ", "bold blue" if name in taken else "")
            yield plain(name, line.append(visible(remedy.title.get(lang)), "bold" if name in taken else ""))
            yield plain("", self._tags(remedy, root))

    def _tags(self, remedy: Remedy, root: Finding) -> Text:
        """What it risks, what must restart, and what it is estimated to do."""
        session, lang = self.session, self.pdoctor.lang
        tags = [self.say(f"risk.{remedy.risk}"), self.say(f"restart.{remedy.restart}")]
        if session is not None and (told := plan_report.estimate(session.report, root.rule.id, remedy.id, lang)):
            tags.append(told)
        return Text(f"      {' · '.join(tags)}", "dim")

    def _effect(self, page: Page) -> None:
        session, lang = self.session, self.pdoctor.lang
        if session is None:
            return
        if not any(True for _ in remedies(session.report)):
            page.wrapped(self.say("tui.plan.none"))
            return
        planned = session.planned
        if planned is None or planned.before is None:
            gap = plan_report.gap(session.report, lang)
            page.wrapped(self.say("tui.plan.unplanned", why=gap[1]) if gap else self.say("tui.plan.no_numbers"))
            self._words(page)
            return
        from doctor.views.plan_compare import compare

        compare(page, planned, session.report, lang)
        self._words(page)

    def _words(self, page: Page) -> None:
        """The remedy under the cursor as it would be written."""
        session = self.session
        name = self.query_one("#remedies", Rows).key
        if session is None:
            return
        found = next(((remedy, root) for key, remedy, root in remedies(session.report) if key == name), None)
        if found is None:
            return
        page.blank()
        page.wrapped(Text(visible(found[0].title.get(self.pdoctor.lang)), "bold"))
        for _, text in present.changes(found[1].rule, found[0], session.report):
            for line in text.splitlines():
                page.raw(line, 2)

    @on(Rows.Moved, "#remedies")
    def _moved(self) -> None:
        self.query_one("#effect", PageView).again()

    @on(Rows.Marked, "#remedies")
    def _marked(self, event: Rows.Marked) -> None:
        self._toggle(event.key)

    @on(Rows.Chosen, "#remedies")
    def _chosen(self, event: Rows.Chosen) -> None:
        self._toggle(event.key)

    def action_take(self) -> None:
        self._toggle(self.query_one("#remedies", Rows).key)

    def _toggle(self, name: str) -> None:
        if self.session is not None and name:
            self.pdoctor.choose(set(self.session.taken) ^ {name})
