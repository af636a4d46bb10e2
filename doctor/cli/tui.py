"""`--tui`: the same diagnosis in the terminal interface."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from doctor.cli.main import OK
from doctor.cli.tell import status
from doctor.messages import say
from doctor.session.answers import Answers
from doctor.session.collecting import Source


def open_tui(source: Source, told: Answers, lang: str, fail_on: str) -> tuple[int, Answers]:
    """Walks a person through what the source holds: the exit status, and all answers they have given."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(say(lang, "tui.no_terminal"))
    from doctor.views.tui.app import PdoctorApp

    app = PdoctorApp(source, told, lang, Path.cwd())
    app.run()
    if app.session is None:
        return OK, told
    return status(app.session.report, fail_on), app.session.answers
