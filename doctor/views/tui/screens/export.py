"""Writes what was found: for people, for an issue, for programs, or to go on later."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.widget import Widget

from doctor.session.saved import to_text
from doctor.session.session import reported
from doctor.session.written import write_new
from doctor.views.safe import visible
from doctor.views.tui.bundling import bundle_beside
from doctor.views.tui.step import Key, StepScreen
from doctor.views.tui.widgets.rows import Rows, plain

NAMES = {
    "html": "pdoctor-report.html",
    "markdown": "pdoctor-report.md",
    "json": "pdoctor-report.json",
    "text": "pdoctor-report.txt",
    "session": "pdoctor-session.json",
    "bundle": "pdoctor-bundle.tar.zst",
}  # fmt: skip


class ExportScreen(StepScreen):
    step = "export"
    KEYS: ClassVar[tuple[Key, ...]] = (Key("enter", "export", "export"),)

    def body(self) -> Iterable[Widget]:
        yield Rows(id="kinds")

    def fill(self) -> None:
        wide = max(cell_len(self.say(f"tui.export.{kind}")) for kind in NAMES)
        head = self.say("tui.export.kind", folder=visible(str(self.pdoctor.folder)))
        rows = [plain("", Text(head, "bold"))]
        for kind, name in NAMES.items():
            line = Text("  ").append(self.say(f"tui.export.{kind}"))
            line.pad_right(wide + 4 - line.cell_len)
            rows.append(plain(kind, line.append(f"→ {name}", "dim")))
        self.query_one("#kinds", Rows).show(rows)

    def action_export(self) -> None:
        self.query_one("#kinds", Rows).action_choose()

    def hint(self) -> str:
        return self.say("tui.hint.export")

    @on(Rows.Chosen, "#kinds")
    def _chosen(self, event: Rows.Chosen) -> None:
        name = NAMES[event.key]
        if event.key == "bundle":
            bundle_beside(self.pdoctor, name)
            return
        try:
            path = write_new(self.pdoctor.folder, name, self._text(event.key))
        except OSError as error:
            told = self.say("tui.unwritable", path=name, reason=error.strerror or error)
            self.notify(visible(told), severity="error", markup=False)
        else:
            self.pdoctor.wrote(self.say("tui.change.written", paths=path))

    def _text(self, kind: str) -> str:
        session, lang = self.session, self.pdoctor.lang
        assert session is not None  # the step cannot be reached before
        if kind == "session":
            return to_text(self.pdoctor.saved())
        report = reported(session)
        if kind == "json":
            from doctor.views import json

            return json.render(report, lang, False)
        if kind == "html":
            from doctor.views.html import page as html

            return html.render(report, lang)
        if kind == "markdown":
            from doctor.views import markdown

            return markdown.render(report, lang)
        from doctor.views.text import print_report

        page = io.StringIO()
        print_report(report, page, lang, True, False)
        return page.getvalue()
