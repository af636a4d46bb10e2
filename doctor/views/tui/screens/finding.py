"""One finding with its proof: the mechanism and the fixes, every piece of evidence, and the log around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.containers import Container, Vertical
from textual.widget import Widget

from doctor.engine.model import Finding, Outcome
from doctor.facts.model import Event, Source, fact_spec
from doctor.rulebase.truth import Truth
from doctor.session.report import Input
from doctor.session.session import remedies
from doctor.views import present
from doctor.views.explain import SYMBOLS, Explanation
from doctor.views.finding_pictures import draw_pictures
from doctor.views.page import Page
from doctor.views.quote import excerpt
from doctor.views.safe import visible
from doctor.views.text import COLUMN, STYLES, TextReport
from doctor.views.tui.screens.findings import WIDE
from doctor.views.tui.step import Key, StepScreen
from doctor.views.tui.watching import event_key
from doctor.views.tui.widgets.log_pane import LogPane
from doctor.views.tui.widgets.page_view import PageView
from doctor.views.tui.widgets.rows import Row, Rows, plain

NAME = re.compile(r"[a-z]\w*\.\w+")
"""How facts are called in conditions."""

OF_A_FINDING = ("take", "why", "copy")

LOW = 30
"""Rows below which the pane that has the focus takes more room than the others."""

MOST_SOURCES = 200
"""Lines of one signal that are listed."""

LEAST = 0.5
"""Nats below which what stands in no line is worth no row; the reasons tell of it all."""

FULL_BAR = 4.0
"""Nats of evidence that fill a bar of five cells."""


class FindingScreen(StepScreen):
    step = "finding"
    _found = True
    _of: str | None = None
    _explained = False
    _shown: Source | None = None
    KEYS: ClassVar[tuple[Key, ...]] = (
        Key("space", "take", "take"),
        Key("w", "why", "why"),
        Key("y", "copy", "copy"),
        Key("z", "app.zoom", "zoom"),
        Key("enter", "log", "log", show=False),
        Key("left_square_bracket", "other(-1)", "previous", show=False),
        Key("right_square_bracket", "other(1)", "following", show=False),
    )
    DEFAULT_CSS = """
    FindingScreen #story { height: 1fr; }
    FindingScreen #proof { height: 1fr; }
    FindingScreen.-low #proof, FindingScreen.-low #story { height: 2fr; }
    FindingScreen.-low #proof:focus-within, FindingScreen.-low #story:focus { height: 3fr; }
    FindingScreen #evidence { height: 2fr; }
    FindingScreen #log { height: 3fr; }
    FindingScreen .body { layout: vertical; }
    FindingScreen.-wide .body { layout: horizontal; }
    FindingScreen.-wide #story { width: 1fr; height: 1fr; }
    FindingScreen.-wide #proof { width: 1fr; height: 1fr; }
    """

    def body(self) -> Iterable[Widget]:
        evidence, log = Rows(id="evidence"), LogPane(id="log")
        for pane in (evidence, log):
            pane.add_class("titled")
        yield Container(PageView(id="story"), Vertical(evidence, log, id="proof"), classes="body")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE, "-wide")
        self.set_class(self.size.height < LOW and self.size.width < WIDE, "-low")

    @property
    def found(self) -> Finding | None:
        """The finding that is shown: the chosen one, else the first root."""
        session = self.session
        findings = session.report.diagnosis.findings if session else ()
        if self.pdoctor.finding.startswith("event "):
            return None
        return next((f for f in findings if f.rule.id == self.pdoctor.finding), findings[0] if findings else None)

    def fill(self) -> None:
        found, story = self.found, self.query_one("#story", PageView)
        if self._found != (found is not None):  # other keys can be pressed; more often it would flicker
            self._found = found is not None
            self.refresh_bindings()
        of = found.rule.id if found else self.pdoctor.finding
        if of == self._of:  # who reads it goes on reading where they are
            story.again()
        else:
            self._of, self._explained, self._shown = of, False, None
            story.show(self._story)
        left = present.unexplained(self.session.report) if self.session and found is None else []
        self._sources = list(_lines(found)) if found else [(event.source, event) for event in left]
        rows = self.query_one("#evidence", Rows)
        rows.border_title = self.say("tui.finding.evidence" if found else "tui.findings.unexplained")
        rows.show(list(self._evidence(found) if found else self._unexplained()))
        keys = [event_key(source) for source, _ in self._sources]
        if found is None and self.pdoctor.finding in keys:
            rows.go_to(f"line {keys.index(self.pdoctor.finding)}")

    def _unexplained(self) -> Iterator[Row]:
        for number, (source, _) in enumerate(self._sources):
            yield self._source(number, source)

    def hint(self) -> str:
        found, session = self.found, self.session
        if found is None or session is None:
            return self.say("tui.hint.finding.none", step=self.onward())
        mine = [name for name, _, root in remedies(session.report) if root.rule.id == found.rule.id]
        how = "" if not mine else "drop" if set(mine) & set(session.taken) else "take"
        return self.say("tui.hint.finding", how=f"   {self.say(f'tui.hint.finding.{how}')}" if how else "")

    def _story(self, page: Page) -> None:
        found, session, lang = self.found, self.session, self.pdoctor.lang
        if session is None:
            return
        if found is None:
            page.wrapped(present.summary(session.report, lang), style="bold")
            if present.unexplained(session.report):
                page.blank()
                page.wrapped(self.say("tui.finding.none"))
            return
        report, rule, severity = session.report, found.rule, str(found.severity)
        if self._explained:
            Explanation(report, lang, page).rule(rule)
            return
        line = Text().append(f"{present.SYMBOLS[severity]} {self.say(f'severity.{severity}')}", STYLES[severity])
        line.append(f"  {rule.id}  ", "dim").append(visible(rule.title.get(lang)), "bold")
        page.wrapped(line.append(f"  [{self.say(f'label.{found.label}')}\u00a0{found.belief:.2f}]", "dim"), hang=2)
        page.beside(self.say("head.where"), present.where(found, report, lang), COLUMN)
        page.beside(self.say("head.why"), rule.because.get(lang), COLUMN)
        draw_pictures(page, report, rule, lang, own=True)
        page.blank()
        text = TextReport(report, lang, False, page)
        taken = {name.partition(":")[2] for name in session.taken if name.startswith(f"{rule.id}:")}
        if taken:
            titles = [remedy.title.get(lang) for remedy in rule.remedies if remedy.id in taken]
            page.beside(self.say("tui.finding.taken"), self.say("list.and").join(titles), COLUMN, style="bold blue")
        text.remedies(found)
        text.follows(found)
        text.rivals(found)
        draw_pictures(page, report, rule, lang, own=False)

    def _evidence(self, found: Finding) -> Iterator[Row]:
        """A row a signal, strongest first, and below it a row for each line that shows it."""
        number = 0
        for outcome in _ordered(found):
            yield plain("", self._signal(outcome))
            for source in outcome.sources[:MOST_SOURCES]:
                yield self._source(number, source)
                number += 1

    def _source(self, number: int, source: Source) -> Row:
        said = excerpt(present.quoted(source, self.pdoctor.lang), 300)
        line = Text("    ").append(visible(_spot(source)), "cyan").append(f"  {said}", "dim")
        return plain(f"line {number}", line)

    def _signal(self, outcome: Outcome) -> Text:
        symbol, style = SYMBOLS[outcome.truth]
        cells = min(round(abs(outcome.weight) / FULL_BAR * 5), 5)
        bar = "▇" * cells + " " * (5 - cells)
        note = outcome.note.get(self.pdoctor.lang) or self._sought(outcome)
        return Text().append(f"{symbol} ", style).append(f"{outcome.weight:+5.1f} {bar} ", "dim").append(visible(note))

    def _sought(self, outcome: Outcome) -> str:
        """What was looked for: messages by their meaning, conditions by the facts that they are over."""
        session = self.session
        events = dict.fromkeys(event.name for event in outcome.events)
        if session is None:
            return outcome.text
        if not events:
            known = session.report.rulebase.catalogue
            names = [name for name in dict.fromkeys(NAME.findall(outcome.text)) if fact_spec(known, name)]
            return self.say("tui.finding.facts", names=", ".join(names)) if names else outcome.text
        meanings = [present.event_meaning(session.report, name, self.pdoctor.lang) for name in events]
        return self.say("list.or").join(meanings)

    @on(Rows.Moved, "#evidence")
    def _moved(self, event: Rows.Moved) -> None:
        kind, _, number = event.key.partition(" ")
        if kind != "line" or int(number) >= len(self._sources):
            return
        source, event_of = self._sources[int(number)]
        if source == self._shown:
            return
        self._shown = source
        given = self._given(source)
        path = self.pdoctor.laid.at_hand(given) if given else ""
        if given and not path:
            self.run_worker(partial(self._lay, source, given), thread=True, group="lay", exclusive=True)
        pane = self.query_one("#log", LogPane)
        pane.border_title = Text(visible(_spot(source)))
        if not path or pane.open(path, source.line):
            if given:
                pane.border_title = Text(f"{visible(_spot(source))}  ({self.say('tui.finding.quoted')})")
            texts = [*(line.text for line in event_of.context), source.text] if event_of else [source.text]
            pane.show([text for text in texts if text] or [source.path or source.kind])

    def _given(self, source: Source) -> Input | None:
        """The log that a source is a line of."""
        inputs = self.session.report.inputs if self.session and source.line else ()
        return next((given for given in inputs if given.path == source.path), None)

    def _lay(self, source: Source, given: Input) -> None:
        """Lays down a log that cannot be opened as it is, beside the screen, and opens it if it is still wanted."""
        path = self.pdoctor.laid.lay(given, self.pdoctor.source.paths)
        if path and self.app.is_running:
            self.app.call_from_thread(self._open, source, path)

    def _open(self, source: Source, path: str) -> None:
        if self.is_mounted and self._shown is source:
            pane = self.query_one("#log", LogPane)
            if not pane.open(path, source.line):
                pane.border_title = Text(visible(_spot(source)))

    @on(Rows.Chosen, "#evidence")
    def action_log(self) -> None:
        self.query_one("#log", LogPane).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a finding there is no fix to take and nothing to weigh."""
        return super().check_action(action, parameters) and (action not in OF_A_FINDING or self.found is not None)

    def action_take(self) -> None:
        """Takes the first fix of this finding into the plan, or drops what is taken of it."""
        found, session = self.found, self.session
        if found is None or session is None:
            return
        mine = [name for name, _, root in remedies(session.report) if root.rule.id == found.rule.id]
        taken = set(session.taken)
        wanted = taken - set(mine) if taken & set(mine) else taken | set(mine[:1])
        self.pdoctor.choose(wanted)

    def action_why(self) -> None:
        self._explained = not self._explained
        self.query_one("#story", PageView).show(self._story)

    def action_copy(self) -> None:
        """The first fix, as it is to be typed."""
        found, session = self.found, self.session
        if found is None or session is None:
            return
        mine = [remedy for _, remedy, root in remedies(session.report) if root.rule.id == found.rule.id]
        texts = [text for _, text in present.changes(found.rule, mine[0], session.report)] if mine else []
        if texts:
            self.pdoctor.copy("\n".join(texts))

    def action_other(self, by: int) -> None:
        found, session = self.found, self.session
        if found is None or session is None:
            return
        rules = [finding.rule.id for finding in session.report.diagnosis.findings]
        self.pdoctor.finding = rules[(rules.index(found.rule.id) + by) % len(rules)]
        self.renew()


def _spot(source: Source) -> str:
    return f"{source.path}:{source.line}" if source.line else source.path or source.kind


def _ordered(found: Finding) -> Sequence[Outcome]:
    """What holds, strongest first; then what is not known and what does not hold, as far as that weighs anything."""
    order = {Truth.TRUE: 0, Truth.UNKNOWN: 1, Truth.FALSE: 2}
    told = [o for o in found.outcomes if o.sources or abs(o.weight) >= LEAST]
    return sorted(told, key=lambda outcome: (order[outcome.truth], -abs(outcome.weight)))


def _lines(found: Finding) -> Iterator[tuple[Source, Event | None]]:
    """The sources in the order of their rows, each with the event that it is of."""
    for outcome in _ordered(found):
        events = {event.source: event for event in outcome.events}
        for source in outcome.sources[:MOST_SOURCES]:
            yield source, events.get(source)
