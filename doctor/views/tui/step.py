"""What every screen has: where one is in the walk, one sentence on what to do now, and the way on and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Static

from doctor.messages import say

if TYPE_CHECKING:
    from doctor.session.session import Session
    from doctor.views.tui.app import PdoctorApp

STEPS = ("collect", "findings", "finding", "question", "plan", "change", "export")
NARROW = 70
"""Columns below which the steps are shown by number alone, but the current one."""
NAME = 10
"""Columns that the name of the job needs at least to be shown."""


class StepBar(Widget):
    """The steps in a row; a click goes there."""

    DEFAULT_CSS = "StepBar { height: 1; background: $panel; }"

    def __init__(self, current: str) -> None:
        super().__init__()
        self.current = current
        self._ends: list[tuple[int, str]] = []

    def render(self) -> Text:
        app = cast("PdoctorApp", self.app)
        line = Text(" pdoctor ", "bold")
        self._ends = []
        for number, name in enumerate(STEPS, 1):
            here = name == self.current
            word = app.say(f"tui.step.{name}") if here or self.size.width >= NARROW else ""
            label = f" {number} {word} " if word else f" {number} "
            if name == "findings" and app.watching and app.watching.new:
                label += f"●{len(app.watching.new)} "
            line.append(label, "reverse bold" if here else "" if app.may_go(name) else "dim")
            self._ends.append((line.cell_len, name))
        if (room := self.size.width - line.cell_len - 3) >= NAME:
            line.append(f"  {end_of(app.job_name, room)}", "dim")
        line.truncate(max(self.size.width, 1), overflow="ellipsis")
        return line

    def on_click(self, event: events.Click) -> None:
        if (name := next((name for end, name in self._ends if event.x < end), "")) and event.x > len(" pdoctor "):
            cast("PdoctorApp", self.app).go(name)


def end_of(name: str, room: int) -> str:
    """The end of a name that is too long: the folder of a job says more than what it lies in."""
    if cell_len(name) <= room:
        return name
    while cell_len(name) >= room:
        name = name[1:]
    return f"…{name}"


@dataclass(frozen=True, slots=True)
class Key:
    """`name` has the words for it as `tui.key.NAME`; `display` is how it is shown, where not by its own name."""

    keys: str
    action: str
    name: str
    display: str = ""
    show: bool = True


COMMON = (
    Key("n", "app.next", "next"),
    Key("b,escape", "app.back", "back", "esc"),
    Key("question_mark", "app.help", "help", "?"),
    Key("q", "app.quit", "quit"),
)


class StepScreen(Screen[Any]):
    """`step` names the screen among STEPS; subclasses fill `body`, and `fill` it again when the session changes."""

    step: ClassVar[str] = ""
    KEYS: ClassVar[tuple[Key, ...]] = ()
    """Those of the screen alone, shown before the ones that all have."""
    DEFAULT_CSS = """
    StepScreen { layers: base; }
    StepScreen > .hint { height: 1; padding: 0 1; background: $boost; text-style: bold; }
    StepScreen > .body { height: 1fr; }
    StepScreen .titled { border-top: solid $panel; border-title-color: $text-muted; }
    StepScreen .titled:focus { border-title-color: $primary; border-title-style: bold; }
    """

    def __init__(self, lang: str) -> None:
        super().__init__()
        for key in (*self.KEYS, *COMMON):
            # A screen's keys are given with its class, where no language is known yet.
            words = say(lang, f"tui.key.{key.name}")
            self._bindings.bind(key.keys, key.action, words, show=key.show, key_display=key.display or None)

    def compose(self) -> ComposeResult:
        yield StepBar(self.step)
        yield from self.body()
        yield Static(classes="hint")
        yield Footer(show_command_palette=False)

    @property
    def pdoctor(self) -> PdoctorApp:
        return cast("PdoctorApp", self.app)

    @property
    def session(self) -> Session | None:
        app: PdoctorApp = self.pdoctor
        return app.session

    def onward(self) -> str:
        """What the next step is called."""
        after = self.pdoctor.after(self.step)
        return self.say(f"tui.step.{after}") if after else ""

    def say(self, key: str, **values: object) -> str:
        return say(self.pdoctor.lang, key, **values)

    def body(self) -> Iterable[Widget]:
        """The widgets between the bar of steps and the hint."""
        return ()

    def fill(self) -> None:
        """Shows the session as it is now."""

    def hint(self) -> str:
        """One sentence: what to do now."""
        return ""

    def step_on(self) -> None:
        """Is told that the walk leads on from here."""

    def step_back(self) -> bool:
        """Takes back something of the screen's own, such as a filter, in the place of leaving it."""
        return False

    def on_screen_resume(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Shows everything anew: the session, the language or the place changed."""
        if not self.is_mounted:
            return
        self.fill()
        self.show_hint()
        self.query_one(StepBar).refresh()

    def show_hint(self) -> None:
        self.query_one(".hint", Static).update(Text(self.hint(), no_wrap=True, overflow="ellipsis"))
