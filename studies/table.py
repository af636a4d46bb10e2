"""Figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [" | ".join(map(cell, row)) for row in rows]
    if not lines:
        return "None."
    return "\n".join(f"| {line} |" for line in (" | ".join(head), " | ".join("---" for _ in head), *lines))


def cell(value: object) -> str:
    """A value that cannot break its row."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
