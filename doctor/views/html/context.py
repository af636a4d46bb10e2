"""What every part of the page needs, and pieces that several of them use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from doctor.facts.model import Event, Source
from doctor.messages import say, say_count
from doctor.session.report import Report
from doctor.session.surroundings import Surroundings
from doctor.views.markup import Child, Markup, el, lines
from doctor.views.related import Related
from doctor.views.safe import visible_lines


@dataclass(frozen=True, slots=True)
class Context:
    """The report, its language, how its findings stand to one another, the lines around its evidence by (path, line),
    and the event of each source."""

    report: Report
    lang: str
    related: Related
    around: Mapping[tuple[str, int], Surroundings] = field(default_factory=dict)
    events: Mapping[Source, Event] = field(default_factory=dict)

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    def count(self, key: str, n: int, **values: object) -> str:
        return say_count(self.lang, key, n, **values)


def section(anchor: str, title: str, *children: Child) -> Markup:
    return el("section", el("h2", title, id=f"h-{anchor}"), children, id=anchor, aria_labelledby=f"h-{anchor}")


def folded(summary: Child, *children: Child, open_: bool = False, class_: str | None = None) -> Markup:
    return el("details", el("summary", summary), children, open=open_, class_=class_)


def code(content: str, kind: str = "code") -> Markup:
    """A block to be copied, each line whole."""
    return el("pre", lines(visible_lines(content)), class_=kind, tabindex=0)


def diff(content: str) -> Markup:
    """A unified diff, its lines told apart by colour beside their sign."""
    kinds = {"+": "add", "-": "del", "@": "at"}
    told = (el("span", line, class_=kinds.get(line[:1])) for line in visible_lines(content))
    return el("pre", lines(told), class_="diff", tabindex=0)


def table(heads: Sequence[Child], rows: Iterable[Sequence[Child]], class_: str | None = None) -> Markup:
    """A table whose first column names the row; it scrolls by itself where it is too wide."""
    head = el("tr", [el("th", each, scope="col") for each in heads])
    body = [el("tr", el("th", row[0], scope="row"), [el("td", each) for each in row[1:]]) for row in rows]
    whole = el("table", el("thead", head), el("tbody", body), class_=class_)
    return el("div", whole, class_="wide", tabindex=0)


def items(entries: Iterable[Child], class_: str | None = None) -> Markup:
    return el("ul", [el("li", entry) for entry in entries], class_=class_)


def capped(context: Context, entries: Sequence[Child], most: int, key: str = "html.more") -> list[Child]:
    """At most so many, and a word of how many there are beside."""
    if len(entries) <= most:
        return list(entries)
    return [*entries[:most], el("span", context.say(key, n=len(entries) - most), class_="dim")]
