"""The probes of a node as text and JSON: what they look at, how each went, what each found."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import msgspec
from rich.text import Text

from doctor.facts.model import Quality
from doctor.messages import say, say_count
from doctor.messages_probes import translated
from doctor.session.node import Outcome, ProbeSpec
from doctor.views.page import Page
from doctor.views.present import value
from doctor.views.safe import visible

COLUMN = 18


def print_outcomes(outcomes: Sequence[Outcome], lang: str, color: bool) -> None:
    """A line a probe: what it found in which time, or why it could not look."""
    page = Page()
    page.wrapped(say(lang, "probes.head"), style="dim")
    for outcome in outcomes:
        symbol, style = ("✓", "green") if outcome.found or not outcome.gaps else ("–", "yellow")
        parts = [say_count(lang, "probes.facts", len(outcome.found))] if outcome.found else []
        files = len(outcome.places) + len(outcome.texts)
        parts += [say_count(lang, "probes.files", files)] if files else []
        parts += [translated(gap, lang) for gap in outcome.gaps]
        line = Text("  ").append(symbol, style).append(f" {outcome.spec.name:<{COLUMN - 4}}")
        line.append(visible(say(lang, "probes.between").join(parts) or say(lang, "probes.nothing")))
        line.append(f"  {outcome.seconds:.2f} s", "dim")
        page.wrapped(line, hang=COLUMN)
    page.blank()
    page.print(sys.stdout, color)


def print_specs(specs: Iterable[ProbeSpec], lang: str, color: bool) -> None:
    page = Page()
    for spec in specs:
        line = Text(f"{spec.name:<{COLUMN - 2}}", "bold").append(translated(spec.looks_at, lang), "default")
        if spec.privilege:
            line.append(say(lang, "probes.privilege", text=translated(spec.privilege, lang)), "dim")
        page.wrapped(line, hang=COLUMN - 2)
    page.print(sys.stdout, color)


def print_facts(outcomes: Sequence[Outcome], color: bool) -> None:
    page = Page()
    for fact in (fact for outcome in outcomes for fact in outcome.found):
        place = f"{fact.source.path}:{fact.source.line}" if fact.source.line else fact.source.path
        line = Text(visible(f"{fact.name} = {value(fact.value)}"))
        line.append(visible(f"  {fact.entity}"), "cyan").append(visible(f"  {place}"), "dim")
        page.wrapped(line, hang=4)
    for outcome in outcomes:
        for found in (*(text.name for text in outcome.texts), *(place.path for place in outcome.places)):
            page.wrapped(visible(found))
    page.print(sys.stdout, color)


def specs_json(specs: Iterable[ProbeSpec]) -> str:
    return _json([msgspec.to_builtins(spec) for spec in specs])


def outcomes_json(outcomes: Iterable[Outcome]) -> str:
    """For each probe its facts, the files it found, and why parts of it could not be read."""
    return _json(
        [
            {
                "name": outcome.spec.name,
                "seconds": round(outcome.seconds, 3),
                "facts": [
                    {"name": f.name, "value": f.value, "entity": f.entity, "path": f.source.path, "text": f.source.text}
                    for f in outcome.facts
                    if f.quality is not Quality.FAILED
                ],
                "files": [*(text.name for text in outcome.texts), *(place.path for place in outcome.places)],
                "not_checked": [
                    {"name": f.name, "entity": f.entity, "why": f.value}
                    for f in outcome.facts
                    if f.quality is Quality.FAILED
                ],
            }
            for outcome in outcomes
        ]
    )


def _json(data: object) -> str:
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
