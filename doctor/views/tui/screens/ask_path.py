"""Asks for a file or folder."""

from __future__ import annotations

import os
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from doctor.messages import say


class AskPath(ModalScreen[str]):
    """Gives the path, or nothing where the person leaves; `initial` stands there already, `there` must it exist."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]
    DEFAULT_CSS = """
    AskPath { align: center middle; }
    AskPath > Vertical {
        width: 90%; max-width: 90; height: auto; padding: 0 1; border: round $primary; background: $surface;
    }
    AskPath Input, AskPath Input:focus { border: none; height: 1; padding: 0 1; background: $boost; }
    AskPath .wrong { color: $error; height: auto; }
    """

    def __init__(self, lang: str, key: str = "tui.collect.path", initial: str = "", there: bool = True) -> None:
        super().__init__()
        self.lang, self.key, self.initial, self.there = lang, key, initial, there

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(say(self.lang, self.key)))
            yield Input(self.initial)
            yield Static(classes="wrong")
            yield Static(Text(say(self.lang, "tui.path.keys"), "dim"))

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        path = os.path.expanduser(event.value.strip())
        if not path or (self.there and not os.path.exists(path)):
            self.query_one(".wrong", Static).update(Text(say(self.lang, "tui.collect.none", path=path or "—")))
        else:
            self.dismiss(path)

    def action_leave(self) -> None:
        self.dismiss("")
