"""A comparison of two runs as text: the verdict and its reason, then each number with where it was read."""

from __future__ import annotations

from typing import IO

from rich.text import Text

from doctor.messages import say
from doctor.session.compare import Comparison
from doctor.views import compare_words as words
from doctor.views.page import Page
from doctor.views.safe import visible

STYLES = {"better": "bold green", "worse": "bold red", "same": "bold", "incomparable": "bold yellow"}
STATES = {"better": "green", "worse": "red"}
MARGIN, NARROW = 3, 16
"""Columns between names and numbers, and what names may take at the least."""


def print_comparison(comparison: Comparison, file: IO[str], lang: str, color: bool = True) -> None:
    """Writes the comparison to `file`."""
    page = Page()
    verdict = comparison.verdict
    line = Text(f"{words.SYMBOLS[verdict]} {say(lang, f'compare.verdict.{verdict}')}", STYLES[verdict])
    sides = say(lang, "compare.sides", before=comparison.before, after=comparison.after)
    line.append("  ").append(visible(sides), "bold")
    page.wrapped(line, hang=2)
    for reason in words.reasons(comparison, lang):
        page.wrapped(reason, indent=2, hang=2)
    heads = [words.measure(change, lang) for change in comparison.changes]
    column = max([NARROW, *(Text(head).cell_len + MARGIN + 2 for head in heads)])
    if comparison.differences:
        page.blank()
        _listed(page, say(lang, "compare.head.differ"), words.differences(comparison, lang), column)
    if comparison.changes:
        page.blank()
    for change, head in zip(comparison.changes, heads, strict=True):
        page.beside(head, words.told(change, lang), column, style=STATES.get(str(change.judged.state), ""))
        read = " | ".join(text for side in change.sources if (text := ", ".join(words.places(side))))
        if read:
            page.beside("", read, column, style="dim")
    if comparison.kernels:
        page.blank()
        listed = [words.kernel(kernel, comparison.shared, lang) for kernel in comparison.kernels]
        _listed(page, say(lang, "compare.head.kernels"), listed, column)
    if comparison.findings:
        page.blank()
        found = [words.finding(finding, lang) for finding in comparison.findings]
        _listed(page, say(lang, "compare.head.findings"), found, column)
    if notes := words.notes(comparison, lang):
        page.blank()
        _listed(page, say(lang, "compare.head.note"), notes, column)
    page.print(file, color)


def _listed(page: Page, head: str, texts: list[str], column: int) -> None:
    for text in texts:
        page.beside(head, text, column)
        head = ""
