"""The planner against published measurements, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from rich.cells import cell_len
from rich.text import Text

from doctor.messages import LANGUAGES
from doctor.messages_accuracy import TEXTS
from doctor.planner.accuracy import Errors, Row
from doctor.planner.evaluate import STEP, Compared, Evaluation
from doctor.rulebase import model
from doctor.views.page import Page
from doctor.views.safe import json_safe, visible

SCHEMA = 1
COLUMNS = ("n", "median", "p90", "bias", "under", "covered")
LABEL, CELL = 28, 12
SHOWN_WORST, SHOWN_REASONS, LONGEST = 3, 6, 200


def print_accuracy(found: Evaluation, file: IO[str], lang: str, color: bool = True) -> None:
    """Writes the report to `file`: all files together, then each."""
    page = Page()
    page.wrapped(_say(lang, "head", records=found.records, modelled=found.modelled))
    for problem in found.problems:
        page.wrapped(_say(lang, "problem", problem=problem.get(lang)), 2, 2, "yellow")
    if not found.overall:
        page.wrapped(_say(lang, "nothing"))
    else:
        page.blank()
        page.row(Text(_say(lang, "overall"), "bold"))
        _comparisons(page, lang, found.overall)
    for report in found.files:
        page.blank()
        head = Text(visible(report.file), "bold")
        page.row(head + Text("  " + _say(lang, "file", records=report.records, modelled=report.modelled), "dim"))
        _reasons(page, lang, report.reasons)
        _comparisons(page, lang, report.compared)
    page.print(file, color)


def render(found: Evaluation) -> str:
    """The report as JSON, schema 1; errors are shares of the measured value, values B or seconds."""
    data = {
        "schema": SCHEMA,
        "records": found.records,
        "modelled": found.modelled,
        "problems": [problem.en for problem in found.problems],
        "overall": [_compared(one) for one in found.overall],
        "files": [
            {
                "file": report.file,
                "records": report.records,
                "modelled": report.modelled,
                "reasons": _told(report.reasons),
                "compared": [_compared(one) for one in report.compared],
            }
            for report in found.files
        ],
    }
    return json_safe(json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def _comparisons(page: Page, lang: str, all_compared: tuple[Compared, ...]) -> None:
    for number, one in enumerate(all_compared):
        if number == 0:
            page.row(Text("  " + " " * LABEL + "".join(_right(_say(lang, column)) for column in COLUMNS), "dim"))
        page.row(_line(_named(lang, one.quantity), one.every))
        if len(one.groups) > 1:
            for group, found in one.groups.items():
                page.row(_line("  " + _named(lang, group), found))
        if one.held_out:
            page.row(_line("  " + _say(lang, "held_out"), one.held_out))
        _reasons(page, lang, one.reasons)
        for row in one.every.worst[:SHOWN_WORST]:
            text = f"{visible(row.id)}: {row.error:+.0%} ({_value(one, row.predicted)}, {_value(one, row.measured)})"
            page.beside(_say(lang, "worst"), text, 12, indent=4)


def _reasons(page: Page, lang: str, reasons: Mapping[model.Text, int]) -> None:
    for reason, n in list(reasons.items())[:SHOWN_REASONS]:
        page.wrapped(_say(lang, "reason", n=n, reason=reason.get(lang)[:LONGEST]), 4, 2, "dim")


def _told(reasons: Mapping[model.Text, int]) -> dict[str, int]:
    """By the English words, whatever the language of the report: programs look for them."""
    return {reason.en[:LONGEST]: n for reason, n in reasons.items()}


def _named(lang: str, name: str) -> str:
    """A quantity or group in words; kinds of jobs go by their names."""
    return _say(lang, name) if name in TEXTS else name


def _line(label: str, found: Errors) -> Text:
    cells = [str(found.n), *(_percent(getattr(found, name)) for name in COLUMNS[1:])]
    shown = visible(label)[:LABEL]
    return Text("  " + shown + " " * (LABEL - cell_len(shown)) + "".join(map(_right, cells)))


def _right(text: str) -> str:
    return " " * max(1, CELL - cell_len(text)) + text


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _value(one: Compared, value: float) -> str:
    return f"{value:.3g} s" if one.quantity == STEP else f"{value / 2**30:.1f} GiB"


def _compared(one: Compared) -> dict[str, Any]:
    return {
        "quantity": one.quantity,
        "all": _errors(one.every),
        "groups": {group: _errors(found) for group, found in one.groups.items()},
        "held_out": _errors(one.held_out) if one.held_out else None,
        "reasons": _told(one.reasons),
    }


def _errors(found: Errors) -> dict[str, Any]:
    return {
        "n": found.n,
        "median": found.median,
        "p90": found.p90,
        "bias": found.bias,
        "under_by_5_percent": found.under,
        "in_range": found.covered,
        "worst": [_row(row) for row in found.worst],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "file": row.file,
        "kind": row.kind,
        "held_out": row.held_out,
        "predicted": row.predicted,
        "measured": row.measured,
        "low": row.low,
        "high": row.high,
        "error": row.error,
    }


def _say(lang: str, key: str, **values: object) -> str:
    return TEXTS[key][LANGUAGES.index(lang)].format(**values)
