"""Options that several commands share, and how they speak: the report to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from doctor.cli.settings import LANGUAGES, SEVERITIES

Command = TypeVar("Command", bound=Callable[..., Any])


class Seconds(click.FloatRange):
    """A range of seconds. nan is within any range of click's, since it is neither less nor more than its ends."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if seconds != seconds:
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


def lang(command: Command) -> Command:
    return click.option("--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language.")(
        command
    )


def rules(command: Command) -> Command:
    """`--rules DIR`, any number of times, beside the rules that come with pdoctor."""
    kind = click.Path(exists=True, file_okay=False, path_type=Path)
    text = "Further rules; may be given several times."
    return click.option("--rules", multiple=True, type=kind, metavar="DIR", help=text)(command)


def quiet(command: Command) -> Command:
    return click.option("-q", "--quiet", is_flag=True, help="No notes on stderr.")(command)


def no_color(command: Command) -> Command:
    return click.option("--no-color", is_flag=True, help="No colour; so does the variable NO_COLOR.")(command)


EXPORTS = "doctor.cli.exports"
"""Where the context of a command keeps what is to be written, by format (doctor/cli/exports.py)."""


def exports(command: Command) -> Command:
    """`--html FILE` and `--markdown FILE`."""
    kind = click.Path(dir_okay=False, path_type=Path)
    told = (("markdown", "The report as Markdown, for an issue."), ("html", "The report as an HTML page."))
    for name, text in told:
        option = click.option(f"--{name}", type=kind, metavar="FILE", expose_value=False, callback=_noted, help=text)
        command = option(command)
    return command


def _noted(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    """Keeps the path; one that cannot be written to is said before anything is read."""
    if value is None:
        return
    if not value.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(value.parent)!r} to write to", context, parameter)
    context.meta.setdefault(EXPORTS, {})[parameter.name] = value


def report(command: Command) -> Command:
    """All options of a command that ends in a diagnosis, in the order of its help."""
    severity = click.Choice(SEVERITIES)
    shared: tuple[Callable[[Command], Command], ...] = (
        click.option("--json", "as_json", is_flag=True, help="The report as JSON, for programs."),
        exports,
        click.option("--tui", is_flag=True, help="Walk through it on the screen, to a change of the job's own files."),
        click.option("--explain", metavar="RULE|CAUSE", help="Show how a rule or cause came out, or why it did not."),
        click.option("--facts", is_flag=True, help="Add everything that is known, with its source."),
        click.option(
            "--fail-on", type=severity, default="degraded", show_default=True,
            help="Exit with 1 for root causes of this severity or graver.",
        ),
        click.option("--answers", type=click.Path(), metavar="FILE", help="YAML with facts and answers to questions."),
        click.option(
            "--answer", "words", multiple=True, metavar="QUESTION=KEY", help="One answer; may be given several times."
        ),
        click.option("--no-input", is_flag=True, help="Ask nothing, even on a terminal."),
        rules,
        lang,
        no_color,
        click.option("-v", "--verbose", is_flag=True, help="All evidence and everything that was checked."),
        quiet,
    )  # fmt: skip
    for option in reversed(shared):
        command = option(command)
    return command


def progress(hushed: bool) -> Callable[[int, int], None] | None:
    """A counter on stderr, where that is a terminal: `12 of 256 files`."""
    if hushed or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        if total > 1:
            end = "\r\x1b[K" if done == total else ""
            print(f"\r{done} of {total} traces read{end}", end="", file=sys.stderr, flush=True)

    return show


def note(text: str) -> None:
    """A line on stderr, safe to show."""
    from doctor.views.safe import visible

    print(f"pdoctor: {visible(text)}", file=sys.stderr)
