"""The remedies to choose from, and the job before and after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.containers import Container
from textual.widget import Widget

from doctor.engine.model import Finding
from doctor.rulebase.model import Remedy
from doctor.rulebase.truth import Truth
from doctor.session.report import Report
from doctor.session.session import Session, laid_out, remedies, reported, untuned, with_material
from doctor.views import plan_report, present
from doctor.views.page import Page
from doctor.views.safe import visible
from doctor.views.text import STYLES
from doctor.views.tui.screens.findings import WIDE
from doctor.views.tui.step import Key, StepScreen
from doctor.views.tui.widgets.page_view import PageView
from doctor.views.tui.widgets.rows import Row, Rows

if TYPE_CHECKING:
    from doctor.session.layouts import Layouts

REASONS = 4
"""Pieces of evidence that are told beside a remedy."""


class Remedies(Rows):
    """A click takes a remedy or drops it."""

    def clicked(self, key: str, again: bool) -> None:
        self.post_message(self.Marked(self, key))


class PlanScreen(StepScreen):
    step = "plan"
    _known: Report | None = None
    _fixed: Sequence[Row] = ()
    _taken: Set[str] = frozenset()
    KEYS: ClassVar[tuple[Key, ...]] = (
        Key("space,enter", "take", "take", "space"), Key("f", "find", "layout"), Key("e", "edit", "edit"),
    )  # fmt: skip
    DEFAULT_CSS = """
    PlanScreen .body { layout: vertical; }
    PlanScreen #remedies { height: 2fr; }
    PlanScreen #effect { height: 3fr; }
    PlanScreen.-wide .body { layout: horizontal; }
    PlanScreen.-wide #remedies { width: 2fr; height: 1fr; }
    PlanScreen.-wide #effect { width: 3fr; height: 1fr; border-left: solid $panel; }
    """

    _found: Layouts | None = None

    def body(self) -> Iterable[Widget]:
        effect = PageView(id="effect")
        effect.add_class("titled")
        yield Container(Remedies(id="remedies"), effect, classes="body")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE, "-wide")

    def fill(self) -> None:
        rows = list(self._rows())
        remedies = self.query_one("#remedies", Rows)
        remedies.show(rows)
        remedies.display = bool(rows)
        found = self.session.layouts if self.session else None
        if found is not self._found:  # what was just found is looked at next
            self._found = found
            remedies.go_to("layout 0")
        self.query_one("#effect", PageView).show(self._effect)
        self._name_effect()

    def _name_effect(self) -> None:
        """Says whether the pane shows the plan, or what a layout that is not taken would do."""
        would = self._looked_at is not self.session
        self.query_one("#effect", PageView).border_title = self.say("tui.plan.would" if would else "tui.plan.effect")

    @property
    def _looked_at(self) -> Session | None:
        """The session, with the layout under the cursor taken."""
        session, key = self.session, self.query_one("#remedies", Rows).key
        if session is None or not key.startswith("layout "):
            return session
        after = laid_out(session, int(key.removeprefix("layout ")))
        return after if after.own else session

    def hint(self) -> str:
        session = self.session
        if session is None or not any(True for _ in remedies(session.report)):
            return self.say("tui.hint.plan.none")
        if session.refused:
            return self.say("tui.hint.plan.refused", why=visible(session.refused.get(self.pdoctor.lang)))
        if session.planned is None or self._fits(session) is True:
            return self.say("tui.hint.plan")
        return self.say("tui.hint.plan.perhaps" if self._fits(session) is None else "tui.hint.plan.unfit")

    def _fits(self, session: Session) -> bool | None:
        from doctor.views.layouts import fits

        return fits(session.planned)

    def _rows(self) -> Iterator[Row]:
        session, lang = self.session, self.pdoctor.lang
        if session is None:
            return
        self._taken = set(session.taken)
        if self._known is not session.report:
            self._known, self._fixed = session.report, list(self._remedies(session.report))
        yield from self._fixed
        if self._fixed:
            from doctor.views.tui.screens.plan_layouts import rows

            yield from rows(session, self.pdoctor.layout_search.considered, lang)

    def _remedies(self, report: Report) -> Iterator[Row]:
        """A heading a root, and two rows a remedy; whether it is taken is looked up when a row is seen."""
        last = ""
        for name, remedy, root in remedies(report):
            if root.rule.id != last:
                last = root.rule.id
                yield Row("", partial(self._head, root))
            yield Row(name, partial(self._line, remedy, name))
            yield Row("", partial(self._tags, remedy, root))

    def _head(self, root: Finding, width: int) -> Text:
        severity = str(root.severity)
        head = Text().append(f"{present.SYMBOLS[severity]} ", STYLES[severity])
        return head.append(f"{root.rule.id}  {visible(root.rule.title.get(self.pdoctor.lang))}", "bold")

    def _line(self, remedy: Remedy, name: str, width: int) -> Text:
        taken = name in self._taken
        line = Text("  ").append("[x] " if taken else "[ ] ", "bold blue" if taken else "")
        return line.append(visible(remedy.title.get(self.pdoctor.lang)), "bold" if taken else "")

    def _tags(self, remedy: Remedy, root: Finding, width: int) -> Text:
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
        looked_at = self._looked_at
        planned = looked_at.planned if looked_at else None
        if planned is None or planned.before is None:
            gap = plan_report.gap(reported(session), lang)
            page.wrapped(self.say("tui.plan.unplanned", why=gap[1]) if gap else self.say("tui.plan.no_numbers"))
            if planned is not None and "config.gpu_model" in planned.understood.missing:
                page.wrapped(self.say("tui.plan.name_gpu", example="gpu=H100"))
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
        from doctor.views.tui.screens.plan_layouts import about

        if about(page, session, name, self.pdoctor.lang):
            return
        found = next(((remedy, root) for key, remedy, root in remedies(session.report) if key == name), None)
        if found is None:
            return
        page.blank()
        page.wrapped(Text(visible(found[0].title.get(self.pdoctor.lang)), "bold"))
        for _, text in present.changes(found[1].rule, found[0], session.report):
            for line in text.splitlines():
                page.raw(line, 2)
        self._reasons(page, found[1])

    def _reasons(self, page: Page, root: Finding) -> None:
        """What was seen that the remedy is to cure, in short."""
        lang = self.pdoctor.lang
        shown = sorted((o for o in root.outcomes if o.truth is Truth.TRUE), key=lambda outcome: -outcome.weight)
        notes = [note for outcome in shown if (note := outcome.note.get(lang))]
        if notes:
            page.blank()
            page.wrapped(self.say("tui.plan.reasons", rule=root.rule.id), style="dim")
        for note in notes[:REASONS]:
            page.wrapped(f"· {note}", indent=2, hang=2)

    @on(Rows.Moved, "#remedies")
    def _moved(self) -> None:
        self.query_one("#effect", PageView).again()
        self._name_effect()

    @on(Rows.Marked, "#remedies")
    def _marked(self, event: Rows.Marked) -> None:
        self._toggle(event.key)

    @on(Rows.Chosen, "#remedies")
    def _chosen(self, event: Rows.Chosen) -> None:
        self._toggle(event.key)

    def action_take(self) -> None:
        self._toggle(self.query_one("#remedies", Rows).key)

    def action_find(self) -> None:
        """Searches for layouts, beside the screen."""
        self.pdoctor.layout_search.begin()

    def action_edit(self) -> None:
        """Asks for a setting by hand."""
        session = self.session
        if session is None:
            return
        from doctor.views.tui.screens.tune import TuneScreen

        def given(after: Session | None) -> None:
            now = self.session
            if after is not None and now is not None and after.material is not now.material:
                after = with_material(after, now.material)  # a job that is watched wrote meanwhile
            if after is not None:
                self.pdoctor.update(after)

        self.app.push_screen(TuneScreen(self.pdoctor.lang, session), given)

    def _toggle(self, name: str) -> None:
        if self.session is None or not name:
            return
        from doctor.views.tui.screens.plan_layouts import EDIT, FIND, LAYOUT, OWN

        if name == FIND:
            self.action_find()
        elif name == EDIT:
            self.action_edit()
        elif name == OWN:
            self.pdoctor.update(untuned(self.session))
        elif name.startswith(LAYOUT):
            self.pdoctor.update(laid_out(self.session, int(name.removeprefix(LAYOUT))))
        else:
            self.pdoctor.choose(set(self.session.taken) ^ {name})
