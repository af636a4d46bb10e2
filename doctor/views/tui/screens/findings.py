"""What was found: roots first, what follows from them below, then what it could also be and what was ruled out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input

from doctor.engine.model import Finding, Role, Verdict
from doctor.session.report import Report
from doctor.views import coverage, present
from doctor.views.explain import Explanation
from doctor.views.page import Page
from doctor.views.safe import visible
from doctor.views.text import COLUMN, STYLES, VERDICTS, TextReport
from doctor.views.tui.screens.reading import ReadingScreen
from doctor.views.tui.step import NARROW, Key, StepBar, StepScreen, end_of
from doctor.views.tui.watching import event_key
from doctor.views.tui.widgets.page_view import PageView
from doctor.views.tui.widgets.rows import Row, Rows, plain
from doctor.views.tui.widgets.standing_bar import StandingBar

WIDE = 110
"""Columns from which a finding is told beside the list."""


class FindingsScreen(StepScreen):
    step = "findings"
    _known: Report | None = None
    _under = ""
    """The row that the cursor stands on."""
    KEYS: ClassVar[tuple[Key, ...]] = (
        Key("enter", "open", "open"),
        Key("slash", "filter", "filter", "/"),
        Key("full_stop", "newest", "newest", ".", show=False),
        Key("t", "told", "told"),
    )
    DEFAULT_CSS = """
    FindingsScreen #list { width: 1fr; }
    FindingsScreen #about { width: 1fr; border-left: solid $panel; display: none; }
    FindingsScreen.-wide #about { display: block; }
    FindingsScreen Input, FindingsScreen Input:focus {
        display: none; height: 1; border: none; padding: 0 1; background: $boost;
    }
    FindingsScreen Input.-shown, FindingsScreen Input.-shown:focus { display: block; }
    """

    def body(self) -> Iterable[Widget]:
        if self.pdoctor.watching is not None:
            yield StandingBar()
        yield Horizontal(Rows(id="list"), PageView(id="about"), classes="body")
        yield Input(placeholder=self.say("tui.findings.filter"), id="words")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE, "-wide")

    def fill(self) -> None:
        report = self.session.report if self.session else None
        if report is not None and report is not self._known:  # thousands of rows are made once
            self._known = report
            self.query_one("#list", Rows).show(list(self._rows(report)))
        for bar in self.query(StandingBar):
            bar.refresh()

    def hint(self) -> str:
        rows = self.query_one("#list", Rows)
        if rows.wanted:
            seen = sum(bool(row.key) for row in rows.rows)
            return self.say("tui.hint.filtered", words=visible(rows.wanted), n=seen)
        if rows.key.startswith("event"):
            return self.say("tui.hint.findings.event", step=self.onward())
        if self._rule() in self._proved():
            return self.say("tui.hint.findings", rule=self._rule())
        none = self.session is not None and self.session.report.diagnosis.verdict is Verdict.HEALTHY
        return self.say("tui.hint.findings.none" if none else "tui.hint.findings.other", step=self.onward())

    def _proved(self) -> set[str]:
        """The rules that have a proof to open."""
        return {found.rule.id for found in self.session.report.diagnosis.findings} if self.session else set()

    def _rule(self) -> str:
        kind, _, rule = self.query_one("#list", Rows).key.partition(" ")
        return rule if kind == "rule" else ""

    def _rows(self, report: Report) -> Iterator[Row]:
        """A row a finding; headings have no key."""
        lang, diagnosis = self.pdoctor.lang, report.diagnosis
        symbol, style = VERDICTS[diagnosis.verdict]
        yield plain("", Text(f" {symbol} {self.say(f'verdict.{diagnosis.verdict}')}  ", style).append(
            visible(present.headline(report, lang)), "bold"
        ))  # fmt: skip
        effects: dict[str, list[Finding]] = {}
        for finding in diagnosis.findings:
            effects.setdefault(finding.explained_by or "", []).append(finding)
        for root in diagnosis.roots:
            yield self._finding(root, report, " ")
            for finding in effects.get(root.rule.id, []):
                yield self._finding(finding, report, "   └ ", self.say("tui.findings.follows"))
            for follow in root.follows:
                what = present.event_meaning(report, follow.event, lang)
                place = present.places([f"rank:{rank}" for rank in follow.ranks], lang) if follow.ranks else ""
                yield plain(f"follow {root.rule.id} {follow.event}", Text(f"   └ {visible(what)}  {place}", "dim"))
        told = {rule for root in diagnosis.roots for rule in root.rivals}
        rest = [finding for finding in diagnosis.findings if finding.role is Role.CONTRIBUTING]
        yield from self._group("perhaps", [f for f in rest if f.rule.id in told], report)
        yield from self._group("also", [f for f in rest if f.rule.id not in told], report)
        if events := present.unexplained(report):
            yield plain("", Text(f" ─ {self.say('tui.findings.unexplained')} {len(events)}", "dim"))
            for event in events:
                key, rank = event_key(event.source), "" if event.rank is None else f"rank {event.rank}"
                said, place = visible(event.source.text.strip())[:400], visible(key.removeprefix("event "))
                yield Row(key, partial(self._event, key, rank, said, place), f"{rank} {said} {place}")
        if earlier := self._earlier():
            yield plain("", Text(f" ─ {self.say('watch.earlier')} {len(earlier)}", "dim"))
            for number, past in reversed(earlier.items()):
                what = visible(present.headline(past, lang))
                yield plain(f"attempt {number}", Text(f" ↺ {self.say('watch.episode_was', n=number, what=what)}"))
        gaps = coverage.not_checked(report, lang)
        if gaps:
            yield plain("", Text(f" ─ {self.say('tui.findings.not_checked')} {len(gaps)}", "dim"))
            for number, (what, why) in enumerate(gaps):
                yield plain(f"gap {number}", Text(f" – {visible(what)}: {visible(why)}", "dim"))
        seen = [other for other in diagnosis.ruled_out if any(o.sources for o in other.outcomes)]
        count = len(diagnosis.ruled_out)
        yield plain("", Text(f" ─ {self.say('tui.findings.ruled_out')} {count}", "dim"))
        for other in seen:
            yield plain(
                f"rule {other.rule.id}", Text(f" × {other.rule.id}  {visible(other.rule.title.get(lang))}", "dim")
            )

    def _earlier(self) -> dict[int, Report]:
        """The restart attempts before the one that runs, of a job that is watched."""
        now = self.pdoctor.watching.standing if self.pdoctor.watching else None
        return {episode.attempt: episode.report for episode in now.earlier} if now else {}

    def _group(self, name: str, findings: list[Finding], report: Report) -> Iterator[Row]:
        if findings:
            yield plain("", Text(f" ─ {self.say(f'tui.findings.{name}')} {len(findings)}", "dim"))
        for finding in findings:
            yield self._finding(finding, report, " ")

    def _finding(self, finding: Finding, report: Report, lead: str, how: str = "") -> Row:
        lang, rule, severity = self.pdoctor.lang, finding.rule, str(finding.severity)
        place = visible(present.where(finding, report, lang))
        label = how or f"{self.say(f'label.{finding.label}')} {finding.belief:.2f}"
        title = f"{rule.id}  {visible(rule.title.get(lang))}"
        key = f"rule {rule.id}"
        text = partial(self._line, key, lead, severity, title, f"  {label}  {place} ")
        return Row(key, text, f"{title} {label} {place} {severity}")

    def _line(self, key: str, lead: str, severity: str, title: str, told: str, width: int) -> Text:
        """A finding in so many columns: the title gives way, then what is told of it at the right."""
        line = self._mark(key).append(lead[1:]).append(f"{present.SYMBOLS[severity]} ", STYLES[severity]).append(title)
        tail = Text(told, "dim")
        tail.truncate(max(width // 2, 12), overflow="ellipsis")
        line.truncate(max(width - tail.cell_len, 12), overflow="ellipsis", pad=True)
        return line + tail

    def _event(self, key: str, rank: str, said: str, place: str, width: int) -> Text:
        """A line that no rule explains: who said what, then the end of its place, which tells more than the begin."""
        tail = Text(f"  {end_of(place, width // 3)} " if width >= NARROW else "", "dim")
        line = self._mark(key).append("? ").append(f"{rank}  " if rank else "", "bold").append(said)
        line.truncate(max(width - tail.cell_len, 12), overflow="ellipsis", pad=True)
        return line + tail

    def _mark(self, key: str) -> Text:
        """The first column of a row: is it new?"""
        watching = self.pdoctor.watching
        return Text("●", "bold yellow") if watching is not None and key in watching.new else Text(" ")

    @on(Rows.Moved, "#list")
    def _moved(self, event: Rows.Moved) -> None:
        about = self.query_one("#about", PageView)
        if event.key == self._under:
            about.again()
        else:
            about.show(self._about)
            if event.rows.by_hand:
                self._seen(self._under, event.key)
        self._under = event.key
        self.show_hint()

    def _seen(self, *keys: str) -> None:
        """What the person has looked at is no longer new."""
        watching = self.pdoctor.watching
        if watching is None or not watching.new.keys() & set(keys):
            return
        for key in keys:
            watching.look_at(key)
        self.query_one("#list", Rows).refresh()
        self.query_one(StandingBar).refresh()
        self.query_one(StepBar).refresh()

    def _about(self, page: Page) -> None:
        """The finding under the cursor in short; the whole of an earlier attempt."""
        session, rule = self.session, self._rule()
        rows = self.query_one("#list", Rows)
        if session is None:
            return
        kind, _, number = rows.key.partition(" ")
        told = rows.by_hand or bool(self._proved()) or kind in ("event", "attempt")
        if self.pdoctor.watching is not None and not told:
            page.wrapped(self.say("watch.calm"))
            return
        if kind == "attempt":
            TextReport(self._earlier()[int(number)], self.pdoctor.lang, False, page).compose()
            return
        found = next((f for f in session.report.diagnosis.findings if f.rule.id == rule), None)
        if found is not None:
            text = TextReport(session.report, self.pdoctor.lang, False, page)
            page.wrapped(Text(visible(found.rule.title.get(self.pdoctor.lang)), "bold"))
            page.beside(self.say("head.where"), present.where(found, session.report, self.pdoctor.lang), COLUMN)
            page.beside(self.say("head.why"), found.rule.because.get(self.pdoctor.lang), COLUMN)
            text.evidence(found)
            text.follows(found)
        elif rule:
            Explanation(session.report, self.pdoctor.lang, page).rule(session.report.rulebase.rules[rule])
        else:
            row = next((row for row in rows.rows if row.key == rows.key), None)
            if row is not None:
                page.wrapped(row.words.strip())

    @on(Rows.Chosen, "#list")
    def _opened(self, event: Rows.Chosen) -> None:
        kind, _, rest = event.key.partition(" ")
        self._seen(event.key)
        if kind == "event":
            self.pdoctor.show_finding(event.key)
        elif kind in ("rule", "follow") and rest.split()[0] in self._proved():
            self.pdoctor.show_finding(rest.split()[0])
        elif not self.has_class("-wide"):  # what stands beside the list where there is room
            self.app.push_screen(ReadingScreen(self.pdoctor.lang, self._about))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only of a job that is watched something new is told."""
        if action in ("newest", "told") and self.pdoctor.watching is None:
            return False
        return super().check_action(action, parameters)

    def action_newest(self) -> None:
        """To the next row that was not looked at."""
        watching, rows = self.pdoctor.watching, self.query_one("#list", Rows)
        if watching is None or not watching.new:
            return
        key = next(iter(watching.new))
        if not any(row.key == key for row in rows.rows):
            self.query_one("#words", Input).value = ""
            rows.look_for("")
        rows.go_to(key)
        self._seen(key)

    def action_told(self) -> None:
        """What was said so far, and what was remarked."""
        watching = self.pdoctor.watching
        if watching is not None:
            self.app.push_screen(ReadingScreen(self.pdoctor.lang, self._told))
            watching.read()

    def _told(self, page: Page) -> None:
        watching = self.pdoctor.watching
        told = list(watching.told) if watching else []
        page.wrapped(self.say("watch.said" if told else "watch.said_nothing"), style="dim")
        for line in reversed(told):
            page.wrapped(line[self.pdoctor.lang], hang=2)

    def action_open(self) -> None:
        self.query_one("#list", Rows).action_choose()

    def step_on(self) -> None:
        """What the cursor stands on is proved next; the first root where it has no proof."""
        key = self.query_one("#list", Rows).key
        rule = key.partition(" ")[2].partition(" ")[0]
        self.pdoctor.finding = key if key.startswith("event ") else rule if rule in self._proved() else ""

    def step_back(self) -> bool:
        """Escape takes the filter away first."""
        words = self.query_one("#words", Input)
        if not words.has_class("-shown") and not words.value:
            return False
        words.value = ""
        words.remove_class("-shown")
        self.query_one("#list", Rows).focus()
        return True

    def action_filter(self) -> None:
        words = self.query_one("#words", Input)
        words.add_class("-shown")
        words.focus()

    @on(Input.Changed, "#words")
    def _typed(self, event: Input.Changed) -> None:
        self.query_one("#list", Rows).look_for(event.value)
        self.show_hint()

    @on(Input.Submitted, "#words")
    def _filtered(self, event: Input.Submitted) -> None:
        event.input.set_class(bool(event.value), "-shown")
        self.query_one("#list", Rows).focus()
