"""Asks for settings of the job and shows, while they are written, what they would do or why they are refused."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from doctor.messages import say
from doctor.session.session import Session, tuned
from doctor.views.safe import visible

NAMES = "tp, pp, cp, ep, vpp, micro_batch, global_batch, recompute, sharding, zero_stage"


class TuneScreen(ModalScreen[Session | None]):
    """Gives the session with the settings, or nothing where the person leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]
    DEFAULT_CSS = """
    TuneScreen { align: center middle; }
    TuneScreen > Vertical {
        width: 90%; max-width: 96; height: auto; padding: 0 1; border: round $primary; background: $surface;
    }
    TuneScreen #outcome { height: auto; min-height: 3; }
    TuneScreen .refused { color: $error; }
    """

    def __init__(self, lang: str, session: Session, initial: str = "") -> None:
        super().__init__()
        self.lang, self.session, self.initial = lang, session, initial

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(say(self.lang, "tui.tune.ask")))
            yield Input(self.initial, placeholder="tp=4 micro_batch=1")
            yield Static(Text(self._told(self.initial, self.session)), id="outcome")

    @on(Input.Changed)
    def _written(self, event: Input.Changed) -> None:
        outcome = self.query_one("#outcome", Static)
        after = tuned(self.session, event.value)
        outcome.set_class(bool(after.refused), "refused")
        outcome.update(Text(self._told(event.value, after)))

    def _told(self, value: str, after: Session) -> str:
        if not value.strip():
            return say(self.lang, "tui.tune.some", names=NAMES, gpu="gpu=H100")
        if after.refused:
            return f"✗ {visible(after.refused.get(self.lang))}"
        from doctor.views.layouts import cost

        planned = after.planned
        plan = planned.plan if planned else None
        if plan is not None:
            return cost(plan.effect.after, self.lang)
        before = planned.before if planned else None
        return cost(before, self.lang) if before else say(self.lang, "tui.plan.no_numbers")

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        after = tuned(self.session, event.value)
        if event.value.strip() and not after.refused:
            self.dismiss(after)

    def action_leave(self) -> None:
        self.dismiss(None)
