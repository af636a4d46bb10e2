"""The change itself: a diff of the person's own files and what is to be done by hand, to copy or to write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.widget import Widget

from doctor.session.written import write_new
from doctor.views.fix import Fix, fix_of
from doctor.views.page import Page
from doctor.views.safe import visible
from doctor.views.tui.step import Key, StepScreen
from doctor.views.tui.widgets.page_view import PageView

PATCH, SCRIPT = "pdoctor-fix.patch", "pdoctor-fix.sh"
HANG = 10
"""Columns that the rest of a long line of the diff stands in from; what is copied or written has it whole."""
STYLES = {"+": "bold blue", "-": "yellow", "@": "dim"}


class ChangeScreen(StepScreen):
    step = "change"
    KEYS: ClassVar[tuple[Key, ...]] = (Key("w", "write", "write"), Key("y", "copy", "copy"))

    def __init__(self, lang: str) -> None:
        super().__init__(lang)
        self._of: Fix | None = None
        self._written = ""
        """How to apply what was written of the fix as it is now."""

    def body(self) -> Iterable[Widget]:
        yield PageView(id="change")

    def fill(self) -> None:
        if (fix := self.fix) != self._of:
            self._of, self._written = fix, ""
        self.query_one("#change", PageView).show(self._page)

    @property
    def fix(self) -> Fix:
        return fix_of(self.session, self.pdoctor.lang) if self.session else Fix("", ())

    def hint(self) -> str:
        return self.say("tui.hint.change" if self.fix.text else "tui.hint.change.none")

    def _page(self, page: Page) -> None:
        fix, session, lang = self.fix, self.session, self.pdoctor.lang
        if session is None:
            return
        if not fix.text:
            page.wrapped(self.say("tui.change.nothing"))
        for line in self._written.splitlines():
            page.wrapped(Text(visible(line), "bold green"), hang=2)
        if fix.patch:
            page.wrapped(Text(self.say("tui.change.files"), "bold"))
            for line in fix.patch.splitlines():
                page.wrapped(Text(visible(line), STYLES.get(line[:1], "")), hang=HANG)
        files = session.edits.files if session.edits else ()
        for note in (note for change in files for note in change.notes):
            told = note.zh if lang == "zh" else note.en
            named = told.startswith((note.knob, "检查点"))
            page.wrapped(f"· {told if named else f'{note.knob}: {told}'}", hang=2, style="dim")
        if fix.by_hand:
            page.blank()
            page.wrapped(Text(self.say("tui.change.hand"), "bold"))
        for each in fix.by_hand:
            page.wrapped(each.title, indent=2, style="bold")
            if each.why:
                page.wrapped(each.why, indent=2, hang=2, style="dim")
            for line in each.text.splitlines():
                page.raw(line, 4)

    def action_copy(self) -> None:
        if text := self.fix.text:
            self.pdoctor.copy(text)

    def action_write(self) -> None:
        fix = self.fix
        names = [(PATCH, fix.patch), (SCRIPT, fix.script)]
        written = []
        for name, text in names:
            if not text:
                continue
            try:
                written.append(write_new(self.pdoctor.folder, name, text))
            except OSError as error:
                told = self.say("tui.unwritable", path=name, reason=error.strerror or error)
                self.notify(told, severity="error", markup=False)
                return
        if not written:
            self.notify(self.say("tui.change.nothing"), markup=False)
            return
        told = self.say("tui.change.written", paths=", ".join(map(str, written)))
        if fix.patch:
            told += "\n" + self.say("tui.change.apply", command=fix.command(str(written[0])))
        self._written = told
        self.pdoctor.wrote(told)
        self.query_one("#change", PageView).again()
