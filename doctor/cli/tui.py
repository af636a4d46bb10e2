"""`--tui`: the same diagnosis in the terminal interface."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from doctor.cli.main import OK
from doctor.cli.stop import Stop
from doctor.messages import say
from doctor.views.safe import visible_lines

if TYPE_CHECKING:
    from doctor.session.answers import Answers
    from doctor.session.collecting import Source
    from doctor.session.saved import Saved
    from doctor.session.watch.source import Watched
    from doctor.views.tui.app import PdoctorApp

WITHOUT_CURSOR = ("", "dumb", "unknown")
"""Terminals (TERM) that show lines one below the other and nothing else."""


def open_tui(source: Source, told: Answers, lang: str, fail_on: str, saved: Saved | None = None) -> tuple[int, Answers]:
    """Walks a person through what the source holds: the exit status, and all answers they have given.

    `saved` is the session that is gone on with.
    """
    need_terminal(lang)
    app = _walked(source, told, lang, saved)
    if app.session is None:
        return OK, told
    from doctor.cli.exports import write_exports
    from doctor.cli.tell import status

    write_exports(app.session.report, lang, facts=False, hushed=False)
    return status(app.session.report, fail_on), app.session.answers


def watch_on_screen(source: Watched, lang: str, stop: Stop) -> Answers:
    """Shows a job that is watched until the person leaves, or a signal says so, and ends the watch: what they have
    answered."""
    from doctor.session.answers import Answers
    from doctor.views.tui.terminal import let_go

    def leave(app: PdoctorApp) -> None:
        let_go()
        app.leave()

    try:
        app = _walked(source, Answers(), lang, begun=lambda app: stop.then(partial(leave, app)))
    finally:
        stop.then(let_go)
        source.stop()
        let_go()
    return app.session.answers if app.session is not None else Answers()


def need_terminal(lang: str) -> None:
    """UsageError where there is none to draw on, or none that can move its cursor."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(say(lang, "tui.no_terminal"))
    if os.environ.get("TERM", "") in WITHOUT_CURSOR:
        raise click.UsageError(say(lang, "tui.dumb_terminal", term=os.environ.get("TERM") or "(empty)"))


def pipe_beside() -> IO[bytes]:
    """What is piped into pdoctor, moved aside so that keys are read from the terminal."""
    pipe = os.fdopen(os.dup(0), "rb")
    if not os.isatty(0):
        try:
            keys = os.open("/dev/tty", os.O_RDWR)
        except OSError:  # nobody is there; that is said where a terminal is needed
            return pipe
        os.dup2(keys, 0)
        os.close(keys)
    return pipe


def _walked(
    source: Source,
    told: Answers,
    lang: str,
    saved: Saved | None = None,
    begun: Callable[[PdoctorApp], object] = lambda app: None,
) -> PdoctorApp:
    """The interface after it was left; what was written is said once more. `begun` is given it before it is shown."""
    from doctor.views.tui.app import PdoctorApp

    try:
        folder = Path.cwd()
    except FileNotFoundError:  # it was removed: the rest goes on, and writing says why it fails
        folder = Path()
    app = PdoctorApp(source, told, lang, folder, saved)
    begun(app)
    app.run()
    with suppress(OSError):  # the terminal may be gone by now
        for line in (line for text in app.written for line in visible_lines(text)):
            click.echo(line, err=True)
    return app
