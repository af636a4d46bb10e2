"""What is worth finding out next: why it is asked, what it separates, and what an answer changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.containers import Container
from textual.widget import Widget

from doctor.engine.model import Diagnosis, NextStep
from doctor.rulebase.questions import DONT_KNOW
from doctor.session.session import Session
from doctor.views import coverage, present
from doctor.views.page import Page
from doctor.views.safe import visible
from doctor.views.tui.screens.ask_path import AskPath
from doctor.views.tui.screens.findings import WIDE
from doctor.views.tui.step import Key, StepScreen
from doctor.views.tui.widgets.page_view import PageView
from doctor.views.tui.widgets.rows import Row, Rows, plain

CELLS, RANKED = 20, 5
COLUMN = 4
WORTH = ((0.5, "much"), (0.1, "some"), (0.0, "little"))
"""Bits of what is not known yet that an answer is expected to settle: half of a yes or no, a tenth, less."""


class QuestionScreen(StepScreen):
    step = "question"
    KEYS: ClassVar[tuple[Key, ...]] = (
        Key("enter", "answer", "answer"),
        Key("a", "add", "add"),
        Key("u", "app.undo", "undo"),
    )
    DEFAULT_CSS = """
    QuestionScreen .body { layout: vertical; }
    QuestionScreen #choices { height: 1fr; }
    QuestionScreen #about { height: 1fr; }
    QuestionScreen.-wide .body { layout: horizontal; }
    QuestionScreen.-wide #choices { width: 1fr; height: 1fr; }
    QuestionScreen.-wide #about {
        width: 1fr; height: 1fr; border-left: solid $panel;
    }
    """

    def body(self) -> Iterable[Widget]:
        about = PageView(id="about")
        about.add_class("titled")
        yield Container(Rows(id="choices"), about, classes="body")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE, "-wide")

    @property
    def steps(self) -> list[NextStep]:
        return present.next_steps(self.session.report) if self.session else []

    def fill(self) -> None:
        rows = list(self._rows())
        self.query_one("#choices", Rows).show(rows)
        self.query_one("#choices", Rows).display = bool(rows)
        about = self.query_one("#about", PageView)
        about.border_title = self.say("tui.question.about")
        about.show(self._about)

    def hint(self) -> str:
        asks = any(step.asks for step in self.steps)
        return self.say("tui.hint.question" if asks else "tui.hint.question.done", step=self.onward())

    def _rows(self) -> Iterator[Row]:
        session, lang = self.session, self.pdoctor.lang
        if session is None:
            return
        for position, step in enumerate(self.steps):
            yield plain("", Text(f" {position + 1}. {visible(present.step_text(step, session.report, lang))}", "bold"))
            much = next(word for least, word in WORTH if step.gain >= least)
            time = present.seconds(step.cost, lang)
            worth = self.say("tui.question.worth", much=self.say(f"tui.question.{much}"), seconds=time)
            yield plain("", Text(f"    {worth}", "dim"))
            for key, text in present.choices(step, session.report, lang):
                yield plain(f"answer {step.asks} {key}", f"    ▸ {visible(text)}")
            if step.asks:
                yield plain(f"answer {step.asks} {DONT_KNOW}", f"    ▸ {self.say('ask.dont_know')}")
            else:
                yield plain(f"file {step.id}", f"    ▸ {self.say('tui.question.file')}")
        for question, key in session.answers.keys.items():
            known = session.report.rulebase.questions[question]
            text = next((a.text.get(lang) for a in known.answers if a.key == key), self.say("ask.dont_know"))
            told = Text().append(f" ✓ {visible(known.text.get(lang))}  ", "dim").append(visible(text), "bold")
            yield plain(f"told {question}", told)

    def _about(self, page: Page) -> None:
        session = self.session
        if session is None:
            return
        lang, report = self.pdoctor.lang, session.report
        step = self._step()
        if step is not None:
            question = report.rulebase.questions.get(step.asks)
            if question is not None:
                page.beside(self.say("tui.question.why"), question.why.get(lang), COLUMN + 10, indent=1)
            if step.separates:
                page.blank()
                page.wrapped(self.say("tui.question.separates"), indent=1, style="dim")
                for cause in step.separates:
                    page.wrapped(present.cause_title(report, cause, lang), indent=3, hang=2)
        if not self.steps:
            page.wrapped(self.say("tui.question.none"), indent=1)
            for what, why in coverage.not_checked(report, lang):
                page.wrapped(f"{what}: {why}", indent=3, hang=2, style="dim")
            if not session.past:
                return
        page.blank()
        self._ranking(page, session)

    def _ranking(self, page: Page, session: Session) -> None:
        """The likeliest causes, and in parentheses what they were before the last answer."""
        before = _beliefs(session.past[-1].report.diagnosis) if session.past else {}
        page.wrapped(Text(self.say("tui.answer.changed" if before else "tui.answer.now"), "bold"), indent=1)
        ranked = sorted(_beliefs(session.report.diagnosis).items(), key=lambda pair: -pair[1])
        for rule, belief in ranked[:RANKED]:
            title = visible(session.report.rulebase.rules[rule].title.get(self.pdoctor.lang))
            line = Text("   ").append("█" * round(belief * CELLS), "blue").append("·" * (CELLS - round(belief * CELLS)))
            line.append(f" {belief:.2f}", "bold")
            if before:
                line.append(f" ({before.get(rule, 0.0):.2f})")
            line.append(f"  {rule}  {title}")
            line.truncate(page.width, overflow="ellipsis")
            page.row(line)

    def _step(self) -> NextStep | None:
        """The step whose answers the cursor stands among, else the first."""
        words = self.query_one("#choices", Rows).key.split(" ")
        steps = self.steps
        of = next((s for s in steps if len(words) > 1 and words[1] in (s.asks, s.id) and words[0] != "told"), None)
        return of or (steps[0] if steps else None)

    @on(Rows.Moved, "#choices")
    def _moved(self) -> None:
        self.query_one("#about", PageView).again()

    def action_answer(self) -> None:
        self.query_one("#choices", Rows).action_choose()

    @on(Rows.Chosen, "#choices")
    def _chosen(self, event: Rows.Chosen) -> None:
        kind, _, rest = event.key.partition(" ")
        if kind == "answer":
            question, _, key = rest.partition(" ")
            self.pdoctor.answer(question, key)
        elif kind == "file":
            self.action_add()
        elif kind == "told":
            self.pdoctor.action_undo()

    def action_add(self) -> None:
        def given(path: str | None) -> None:
            if path:
                self.pdoctor.add(path)

        self.app.push_screen(AskPath(self.pdoctor.lang), given)


def _beliefs(diagnosis: Diagnosis) -> dict[str, float]:
    """How likely each cause is, whether it holds as a finding or is merely still possible."""
    beliefs = {suspect.rule: suspect.belief for suspect in diagnosis.suspects}
    for finding in diagnosis.findings:
        beliefs.setdefault(finding.rule.id, finding.belief)
    return beliefs
