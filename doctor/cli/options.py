"""Options that several commands share, and how they speak: the report to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from doctor.cli.settings import LANGUAGES

Command = TypeVar("Command", bound=Callable[..., Any])


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
