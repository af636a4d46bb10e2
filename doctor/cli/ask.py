"""Asks a person at a terminal, one question at a time, and says what each answer changes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from doctor.engine.model import Diagnosis, NextStep
from doctor.messages import say
from doctor.rulebase.model import Question
from doctor.rulebase.questions import DONT_KNOW
from doctor.session.analyze import Material, judge
from doctor.session.answers import Answers
from doctor.session.report import Report
from doctor.views.page import Page

COLUMN = 13
RANKED = 3
"""Causes that are shown before and after an answer."""

LEAST = 0.02
"""Share below which a cause is not shown among them."""


def converse(
    material: Material, answers: Answers, report: Report, lang: str, color: bool = True
) -> tuple[Report, Answers]:
    """Puts the question that tells most, judges anew, and so on until nothing is worth asking or the person stops.

    Gives the last report and all answers, those that were there before included.
    """
    if not report.diagnosis.questions:
        return report, answers
    while report.diagnosis.questions:
        step = report.diagnosis.questions[0]
        question = report.rulebase.questions[step.asks]
        key = _ask(question, step, report, lang, color)
        if key is None:
            return report, answers
        answers = answers.with_answer(question, key)
        after = judge(material, answers)
        if key != DONT_KNOW:
            _changes(report, after, lang, color)
        report = after
    page = Page()
    page.beside("", say(lang, "ask.done"), COLUMN)
    page.print(sys.stdout, color)
    return report, answers


def _ask(question: Question, step: NextStep, report: Report, lang: str, color: bool) -> str | None:
    """The key of the answer that is chosen; None when the person has had enough or the terminal is gone."""
    page = Page()
    page.raw("")
    page.beside(say(lang, "ask.head"), question.text.get(lang), COLUMN, indent=0)
    page.beside("", question.why.get(lang), COLUMN, style="dim")
    keys = [answer.key for answer in question.answers] + [DONT_KNOW]
    texts = [answer.text.get(lang) for answer in question.answers] + [say(lang, "ask.dont_know")]
    for number, text in enumerate(texts, 1):
        page.beside("", f"{number}  {text}", COLUMN)
    page.beside("", f"0  {say(lang, 'ask.stop')}", COLUMN)
    page.print(sys.stdout, color)
    while True:
        try:
            line = input(" " * COLUMN + say(lang, "ask.prompt")).strip()
        except (EOFError, UnicodeDecodeError):
            return None
        if line == "0":
            return None
        if line in keys:
            return line
        if line.isascii() and line.isdecimal() and len(line) < 4 and 1 <= int(line) <= len(keys):
            return keys[int(line) - 1]
        page = Page()
        page.beside("", say(lang, "ask.again", most=len(keys)), COLUMN)
        page.print(sys.stdout, color)


def _changes(before: Report, after: Report, lang: str, color: bool) -> None:
    page = Page()
    old, new = ranking(before.diagnosis), ranking(after.diagnosis)
    if old == new:
        page.beside("", say(lang, "ask.same"), COLUMN)
    else:
        page.beside("", say(lang, "ask.before", ranking=_shown(old, before, lang)), COLUMN, style="dim")
        page.beside("", say(lang, "ask.now", ranking=_shown(new, after, lang)), COLUMN)
    page.print(sys.stdout, color)


def ranking(diagnosis: Diagnosis) -> list[tuple[str, float]]:
    """The most probable causes as (rule, belief): the roots, and what else is still possible."""
    believed = {suspect.rule: suspect.belief for suspect in diagnosis.suspects}
    believed |= {finding.rule.id: finding.belief for finding in diagnosis.roots}
    best = sorted(believed.items(), key=lambda item: -item[1])[:RANKED]
    return [(rule, round(belief, 2)) for rule, belief in best if belief >= LEAST]


def _shown(ranked: Sequence[tuple[str, float]], report: Report, lang: str) -> str:
    parts = [f"{rule} {report.rulebase.rules[rule].title.get(lang)} [{belief:.2f}]" for rule, belief in ranked]
    return " · ".join(parts) or say(lang, "ask.nobody")
