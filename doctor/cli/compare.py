"""`pdoctor compare`: two runs in, whether the change between them helped out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doctor.cli import options
from doctor.cli.main import OK
from doctor.messages import say

if TYPE_CHECKING:
    from doctor.rulebase.load import Loaded
    from doctor.session.sides import Side


@click.command(no_args_is_help=True)
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option(
    "--repeat", "repeats", multiple=True, metavar="PATH", help="A further run as BEFORE; may be given several times."
)
@click.option("--json", "as_json", is_flag=True, help="The comparison as JSON, for programs.")
@options.rules
@options.lang
@options.no_color
@options.quiet
def compare(
    before: str,
    after: str,
    repeats: tuple[str, ...],
    as_json: bool,
    rules: tuple[Path, ...],
    lang: str,
    no_color: bool,
    quiet: bool,
) -> int:
    """Say whether a change of the job helped, noise taken into account.

    BEFORE and AFTER are each what `pdoctor analyze` reads (logs, traces, snapshots, a folder or archive of them), or
    a report of `pdoctor analyze --json --facts`. Medians of steps are compared by a bootstrap interval; below 5 % a
    difference is noise, unless runs given with --repeat show that this job repeats itself more closely.

    Exit status: 0 whatever the verdict, 2 where a side cannot be read.
    """
    from doctor.rulebase.load import load_rulebase
    from doctor.session.compare import compare as compare_sides
    from doctor.session.inputs import InputError

    try:
        loaded = load_rulebase(rules)
        sides = [_side(path, loaded, lang, quiet) for path in (before, after, *repeats)]
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    comparison = compare_sides(sides[0], sides[1], sides[2:])
    if as_json:
        from doctor.views.compare_json import render

        sys.stdout.write(render(comparison, lang))
    else:
        from doctor.views.compare_text import print_comparison

        print_comparison(comparison, sys.stdout, lang, not no_color)
    return OK


def _side(path: str, loaded: Loaded, lang: str, quiet: bool) -> Side:
    from doctor.session.sides import is_report, side_of_json, side_of_report

    if is_report(path):
        return side_of_json(path)
    from doctor.session.analyze import judge, read_paths
    from doctor.session.answers import Answers

    report = judge(read_paths([path], loaded, progress=options.progress(quiet)), Answers())
    return side_of_report(report, path, lang)
