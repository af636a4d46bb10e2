"""The pictures that belong to a finding: those of the facts that its rule reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from doctor.rulebase.model import Rule
from doctor.session.heat import heat_of
from doctor.session.held import memory_of
from doctor.session.pictures import pictures_of
from doctor.session.report import Report
from doctor.session.wait_graph import wait_graph_of
from doctor.views.bars import draw
from doctor.views.heat import draw_heat
from doctor.views.page import Page
from doctor.views.waits import draw_waits

READS = {
    "waits": ("fr.", "hang.", "stack.", "torch.watchdog_timeout"),
    "memory": ("oom.", "snapshot.", "recording.", "mem.", "torch.cuda_oom"),
    "experts": ("experts.", "moe."),
    "time": ("trace.",),
}
"""What begins the names of facts and messages that a picture shows."""
_DOTTED = re.compile(r"[a-z]\w*\.[\w.]+")


def draw_pictures(page: Page, report: Report, rule: Rule, lang: str, own: bool) -> None:
    """Draws the pictures of what the rule reads, or with `own` false all others that there are."""
    names = tuple(_names(rule))
    for kind, starts in READS.items():
        if any(name.startswith(starts) for name in names) is own:
            _DRAWN[kind](page, report, lang)


def _names(rule: Rule) -> Iterator[str]:
    for signal in rule.signals.values():
        yield from signal.events
        yield from _DOTTED.findall(signal.when)


def _waits(page: Page, report: Report, lang: str) -> None:
    if (graph := wait_graph_of(report.store)) is not None:
        draw_waits(page, graph, lang)


def _memory(page: Page, report: Report, lang: str) -> None:
    if (held := memory_of(report.store)) is not None:
        draw(page, held, lang)


def _experts(page: Page, report: Report, lang: str) -> None:
    if (heat := heat_of(report.store)) is not None:
        draw_heat(page, heat, lang)


def _time(page: Page, report: Report, lang: str) -> None:
    for picture in pictures_of(report.store):
        draw(page, picture, lang)


_DRAWN: dict[str, Callable[[Page, Report, str], None]] = {
    "waits": _waits,
    "memory": _memory,
    "experts": _experts,
    "time": _time,
}
