"""What the command palette lists: what the screen can do, then where to go, then what is there everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.dom import DOMNode
from textual.screen import Screen

from doctor.views.tui.step import STEPS, StepScreen

if TYPE_CHECKING:
    from doctor.views.tui.app import PdoctorApp

EVERYWHERE = ("ranks", "language", "theme", "zoom", "undo", "help", "quit")


def commands(app: PdoctorApp, screen: Screen[object]) -> Iterator[SystemCommand]:
    """Each with what it does."""
    keys = screen.KEYS if isinstance(screen, StepScreen) else ()
    for key in (key for key in keys if screen.check_action(key.action, ()) is not False):
        yield _command(app, key.name, key.action, screen)
    for number, name in enumerate(STEPS, 1):
        if app.may_go(name):
            told = app.say(f"tui.help.{name}")
            yield SystemCommand(f"{number} {app.say(f'tui.step.{name}')}", told, partial(app.go, name))
    for name in EVERYWHERE:
        yield _command(app, name, {"theme": "next_theme"}.get(name, name), app)


def _command(app: PdoctorApp, name: str, action: str, where: DOMNode) -> SystemCommand:
    run = partial(app.call_later, app.run_action, action, where)
    return SystemCommand(app.say(f"tui.key.{name}"), app.say(f"tui.help.key.{name}"), run)
