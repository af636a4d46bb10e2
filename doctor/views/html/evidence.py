"""The lines that show a cause, each with its weight and with the log around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from doctor.engine.model import Finding, Outcome
from doctor.facts.model import Event, Source
from doctor.views import present
from doctor.views.html.context import Context, folded, items
from doctor.views.markup import Markup, el, text
from doctor.views.proofs import proofs
from doctor.views.quote import excerpt

LONGEST, NEIGHBOUR, FRAMES, ALIKE, SIGNALS = 2_000, 400, 12, 40, 12
"""Characters shown of the line, of a line beside it; frames of a traceback; further places; signals."""
HEAVIEST = 5.0
"""Nats that fill the bar of a weight: the decisive signal of a rule (0.99 to 0.01) has 4.6."""


def evidence(context: Context, finding: Finding) -> Markup:
    """One entry for each signal that holds."""
    quoted: set[Source] = set()
    entries: list[Markup] = []
    for outcome in proofs(finding)[:SIGNALS]:
        fresh = [source for source in outcome.sources if source not in quoted]
        quoted.update(fresh)
        if fresh:
            entries.append(_entry(context, outcome, fresh, not entries))
    return text(entries, el("p", context.say("html.weight.help"), class_="dim small") if entries else None)


def _entry(context: Context, outcome: Outcome, sources: Sequence[Source], first: bool) -> Markup:
    head = [el("span", place(context, sources[0]), class_="place"), _weight(context, outcome.weight)]
    note = outcome.note.get(context.lang)
    told = el("p", f"→ {note}", class_="note") if note else None
    body = [quote(context, sources[0]), told, _alike(context, sources[1:], outcome.events)]
    return folded(head, body, open_=first, class_="evidence")


def _weight(context: Context, weight: float) -> Markup:
    wide = f"{100 * min(abs(weight) / HEAVIEST, 1):.0f}%"
    back = el("rect", width="100%", height=6, rx=3, class_="w-back")
    meter = el("svg", back, el("rect", width=wide, height=6, rx=3, class_="w-fore"), width=60, height=6, class_="meter",
               aria_hidden="true")  # fmt: skip
    return el("span", meter, " ", context.say("html.weight", weight=f"{weight:+.1f}"), class_="weight")


def place(context: Context, source: Source) -> str:
    """`file:line`, with the rank and the node of the line where they are known."""
    event = context.events.get(source)
    spot = f"{source.path}:{source.line}" if source.line else source.path or source.kind
    tags = [present.places([f"rank:{event.rank}"], context.lang)] if event and event.rank is not None else []
    tags += [event.host] if event and event.host else []
    return " · ".join([spot, *tags])


def quote(context: Context, source: Source) -> Markup:
    """The line among its neighbours; without those, with the frames that belong to it."""
    event = context.events.get(source)
    window = context.around.get((source.path, source.line))
    lines: list[Markup] = []
    if window is not None:
        hit = source.line - window.first
        lines += [_line(window.first + i, line) for i, line in enumerate(window.lines[:hit])]
    elif event is not None and event.source == source:
        lines += [_line(frame.line, frame.text) for frame in event.context[-FRAMES:]]
    lines.append(_hit(context, source, event))
    if window is not None:
        lines += [_line(source.line + 1 + i, line) for i, line in enumerate(window.lines[hit + 1 :])]
    if event is not None and event.source == source and (frame := present.own_frame(event)):
        lines.append(el("div", el("span", "↑", class_="no"), el("code", excerpt(frame, NEIGHBOUR))))
    return el("div", lines, class_="log", tabindex=0, role="group", aria_label=place(context, source))


def _line(number: int, line: str) -> Markup:
    return el("div", el("span", str(number) if number else "", class_="no"), el("code", excerpt(line, NEIGHBOUR)))


def _hit(context: Context, source: Source, event: Event | None) -> Markup:
    spec = context.report.rulebase.events.get(event.name) if event else None
    patterns = spec.patterns if spec else ()
    said = excerpt(present.quoted(source, context.lang), LONGEST, patterns) or "–"
    number = el("span", "▸", str(source.line) if source.line else "", class_="no")
    hint = el("span", context.say("html.hit"), class_="unseen")
    return el("div", number, hint, el("code", _marked(said, patterns)), class_="hit")


def _marked(line: str, patterns: Iterable[str]) -> Markup:
    """What was matched is marked, from the first place where a pattern is found."""
    best: tuple[int, int] | None = None
    for pattern in patterns:
        try:
            found = re.search(pattern, line)
        except re.error:
            continue
        if found and found.end() > found.start() and (best is None or found.start() < best[0]):
            best = found.span()
    return text(line[: best[0]], el("mark", line[best[0] : best[1]]), line[best[1] :]) if best else text(line)


def _alike(context: Context, sources: Sequence[Source], events: Sequence[Event]) -> Markup | None:
    """The other lines that show the same; of very many the first are kept, and all are counted."""
    if not sources:
        return None
    ranks = {f"rank:{event.rank}" for event in events[1:] if event.rank is not None}
    many = max(len(sources), len(events) - 1)
    summary = context.count("html.alike", many)
    if ranks:
        summary += f" · {present.places(ranks, context.lang)}"
    lines = [
        text(
            el("span", place(context, source), class_="place"),
            " ",
            el("code", excerpt(present.quoted(source, context.lang), 160)),
        )
        for source in sources
    ]
    rest = many - min(len(lines), ALIKE)
    more = el("p", context.say("html.cut", n=rest), class_="dim") if rest else None
    return folded(summary, items(lines[:ALIKE], "alike"), more)
