"""`--tui`: the same diagnosis in the terminal interface."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doctor.cli.main import OK
from doctor.messages import say

if TYPE_CHECKING:
    from doctor.session.answers import Answers
    from doctor.session.collecting import Source
    from doctor.session.saved import Saved
from doctor.views.safe import visible_lines

WITHOUT_CURSOR = ("", "dumb", "unknown")
"""Terminals (TERM) that show lines one below the other and nothing else."""


def open_tui(source: Source, told: Answers, lang: str, fail_on: str, saved: Saved | None = None) -> tuple[int, Answers]:
    """Walks a person through what the source holds: the exit status, and all answers they have given.

    `saved` is the session that is gone on with.
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(say(lang, "tui.no_terminal"))
    if os.environ.get("TERM", "") in WITHOUT_CURSOR:
        raise click.UsageError(say(lang, "tui.dumb_terminal", term=os.environ.get("TERM") or "(empty)"))
    from doctor.views.tui.app import PdoctorApp

    try:
        folder = Path.cwd()
    except FileNotFoundError:  # it was removed: the rest goes on, and writing says why it fails
        folder = Path()
    app = PdoctorApp(source, told, lang, folder, saved)
    app.run()
    for line in (line for text in app.written for line in visible_lines(text)):
        click.echo(line, err=True)
    if app.session is None:
        return OK, told
    from doctor.cli.exports import write_exports
    from doctor.cli.tell import status

    write_exports(app.session.report, lang, facts=False, hushed=False)
    return status(app.session.report, fail_on), app.session.answers
