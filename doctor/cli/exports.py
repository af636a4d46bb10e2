"""`--html FILE` and `--markdown FILE`: the report as files, beside what is told on the terminal."""

from __future__ import annotations

import os
from pathlib import Path

import click

from doctor.cli import options
from doctor.messages import say
from doctor.session.report import Report


def write_exports(report: Report, lang: str, facts: bool, hushed: bool) -> None:
    """Writes the files that were asked for. UsageError where one cannot be written, or is a file that was read."""
    wanted: dict[str, Path] = click.get_current_context().meta.get(options.EXPORTS, {})
    for name, path in wanted.items():
        if any(given.place and _same(path, given.place) for given in report.inputs):
            raise click.UsageError(say(lang, "export.input", path=path, option=f"--{name}"))
        from doctor.session.written import replace_file

        try:
            replace_file(path, _rendered(name, report, lang, facts).encode("utf-8", "backslashreplace"))
        except OSError as error:
            reason = error.strerror or str(error)
            raise click.UsageError(say(lang, "export.unwritable", path=path, reason=reason)) from None
        if not hushed:
            options.note(say(lang, f"{name}.written", path=path))


def _rendered(name: str, report: Report, lang: str, facts: bool) -> str:
    if name == "html":
        from doctor.views.html.page import render

        return render(report, lang, facts)
    from doctor.views import markdown

    return markdown.render(report, lang)


def _same(path: Path, place: str) -> bool:
    try:
        return os.path.samefile(path, place)
    except OSError:
        return False
