"""`pdoctor analyze`: files in, diagnosis out."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from doctor.cli import options
from doctor.cli.main import FOUND, OK, UNDETERMINED
from doctor.cli.settings import SEVERITIES
from doctor.messages import say
from doctor.session.analyze import STDIN, analyze_paths
from doctor.session.inputs import InputError
from doctor.session.report import Report


@click.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON, for programs.")
@click.option("--explain", metavar="RULE|CAUSE", help="Show how a rule or cause came out, or why it did not.")
@click.option("--facts", is_flag=True, help="Add everything that is known of the job, with its source.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="degraded",
    show_default=True,
    help="Exit with 1 for root causes of this severity or graver.",
)
@click.option("--answers", type=click.Path(), metavar="FILE", help="YAML with facts that only a person knows.")
@options.rules
@options.lang
@options.no_color
@click.option("-v", "--verbose", is_flag=True, help="All evidence and everything that was checked.")
@options.quiet
def analyze(
    paths: tuple[str, ...],
    as_json: bool,
    explain: str | None,
    facts: bool,
    fail_on: str,
    answers: str | None,
    rules: tuple[Path, ...],
    lang: str,
    no_color: bool,
    verbose: bool,
    quiet: bool,
) -> int:
    """Find the root cause in what a job left behind.

    PATH is a log, a job configuration, a pasted node dump (nvidia-smi, dmesg, df ...), or a folder or archive (zip,
    tar) of them, in any mixture; what a file is, is told by its content. A PATH of - is standard input.
    """
    if explain is not None and as_json:
        raise click.UsageError("--explain is for people and has no JSON form: leave one of the two out")
    stdin = sys.stdin.buffer if STDIN in paths and sys.stdin is not None else None
    try:
        report = analyze_paths(paths, rules_dirs=rules, answers=answers, stdin=stdin)
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    if explain is not None:
        return _explain(report, explain, lang, no_color)
    if as_json:
        from doctor.views.json import render

        sys.stdout.write(render(report, lang, facts))
    else:
        from doctor.views.text import print_report

        print_report(report, sys.stdout, lang, verbose, not no_color, facts)
    if as_json and not quiet:
        from doctor.views.present import warnings

        for text in warnings(report, lang):
            options.note(text)
    return status(report, fail_on)


def status(report: Report, fail_on: str) -> int:
    """The exit status: findings at or above `fail_on`, else what the verdict says."""
    limit = SEVERITIES.index(fail_on)
    if any(SEVERITIES.index(root.severity) <= limit for root in report.diagnosis.roots):
        return FOUND
    return UNDETERMINED if report.diagnosis.verdict == "undetermined" else OK


def _explain(report: Report, name: str, lang: str, no_color: bool) -> int:
    from doctor.views.explain import UnknownNameError, print_explanation

    try:
        print_explanation(report, name, sys.stdout, lang, not no_color)
    except UnknownNameError as error:
        raise click.UsageError(str(error)) from None
    return OK
