"""A diagnosis is told: as JSON, as an explanation, or as the report, with the questions that are worth asking."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from doctor.cli import options
from doctor.cli.exports import write_exports
from doctor.cli.main import FOUND, OK, UNDETERMINED
from doctor.cli.settings import SEVERITIES
from doctor.session.analyze import Material, judge
from doctor.session.answers import Answers
from doctor.session.report import Report


@dataclass(frozen=True, slots=True)
class Telling:
    """How to tell it: the options of the same names; `ask` allows questions, which only a terminal gets."""

    as_json: bool
    explain: str | None
    facts: bool
    fail_on: str
    lang: str
    no_color: bool
    verbose: bool
    quiet: bool
    ask: bool


def tell(material: Material, told: Answers, how: Telling) -> tuple[int, Answers]:
    """Judges the material and writes the report to stdout, and to the files that were asked for: the exit status, and
    all answers a person has given."""
    report = judge(material, told)
    # Before stdout, whose reader may leave early; anew when answers have changed the report.
    write_exports(report, how.lang, how.facts, how.quiet)
    if how.explain is not None:
        return _explain(report, how.explain, how), told
    if how.as_json:
        from doctor.views.json import render

        sys.stdout.write(render(report, how.lang, how.facts))
        if not how.quiet:
            from doctor.views.present import warnings

            for text in warnings(report, how.lang):
                options.note(text)
        return status(report, how.fail_on), told
    from doctor.views.text import print_report

    print_report(report, sys.stdout, how.lang, how.verbose, not how.no_color, how.facts)
    if how.ask and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from doctor.cli.ask import converse

        first = report
        report, told = converse(material, told, report, how.lang, not how.no_color)
        if _roots(report) != _roots(first):
            print()
            print_report(report, sys.stdout, how.lang, how.verbose, not how.no_color, how.facts)
        if report is not first:
            write_exports(report, how.lang, how.facts, how.quiet)
    return status(report, how.fail_on), told


def status(report: Report, fail_on: str) -> int:
    """The exit status: findings at or above `fail_on`, else what the verdict says."""
    limit = SEVERITIES.index(fail_on)
    if any(SEVERITIES.index(root.severity) <= limit for root in report.diagnosis.roots):
        return FOUND
    return UNDETERMINED if report.diagnosis.verdict == "undetermined" else OK


def _roots(report: Report) -> list[str]:
    return [root.rule.id for root in report.diagnosis.roots]


def _explain(report: Report, name: str, how: Telling) -> int:
    from doctor.views.explain import UnknownNameError, print_explanation

    try:
        print_explanation(report, name, sys.stdout, how.lang, not how.no_color)
    except UnknownNameError as error:
        raise click.UsageError(str(error)) from None
    return OK
