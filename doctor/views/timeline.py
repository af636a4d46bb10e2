"""Draws the pipeline of a step as text: a row a stage, F and B where it works, dots where it waits."""

from __future__ import annotations

from rich.text import Text

from doctor.messages import say
from doctor.session.timeline import FORWARD, Timeline
from doctor.views.page import Page

MOST_STAGES, LABEL = 8, 5
STYLES = {True: ("F", "blue"), False: ("B", "cyan")}


def draw_timeline(page: Page, timeline: Timeline, lang: str) -> None:
    """Writes the picture on `page`; of many stages the first and the last are drawn."""
    page.wrapped(say(lang, "html.timeline"), style="dim")
    count = len(timeline.stages)
    half = MOST_STAGES // 2
    numbers = list(range(count)) if count <= MOST_STAGES else [*range(half), -1, *range(count - half, count)]
    room = max(page.width - LABEL - 1, 10)
    for number in numbers:
        if number < 0:
            page.row(Text(" " * LABEL + "⋮", "dim"))
            continue
        cells = [(".", "dim")] * room
        for work in timeline.stages[number]:
            begin = int(work.start / timeline.whole * room)
            end = max(int((work.start + work.length) / timeline.whole * room), begin + 1)
            for cell in range(begin, min(end, room)):
                cells[cell] = STYLES[work.kind == FORWARD]
        line = Text().append(f"{f's{number}':>{LABEL - 1}} ", "dim")
        for letter, style in cells:
            line.append(letter, style)
        page.row(line)
