"""Draws who waits for whom as text."""

from __future__ import annotations

from rich.text import Text

from doctor.facts.ranks import ranges
from doctor.messages import say
from doctor.session.wait_graph import WaitGraph
from doctor.views.page import Page
from doctor.views.safe import visible

MOST = 12


def draw_waits(page: Page, graph: WaitGraph, lang: str, everything: bool = False) -> None:
    """Writes the picture on `page`: an arrow a group of like edges, most waiters first."""
    page.blank()
    page.wrapped(say(lang, "html.waits"), style="dim")
    shown = graph.edges if everything else graph.edges[:MOST]
    for edge in shown:
        line = Text("  ").append(f"[{ranges(edge.waiters)}]", "yellow").append(" ──▶ ", "dim")
        guilty = set(edge.awaited) <= set(graph.culprits)
        line.append(f"[{ranges(edge.awaited)}]", "bold reverse red" if guilty else "bold")
        page.wrapped(line.append(f"  {visible(edge.call)} ({visible(edge.why)})", "dim"), hang=6)
    if len(shown) < len(graph.edges):
        page.wrapped(say(lang, "html.cut", n=len(graph.edges) - len(shown)), indent=2, style="dim")
    if graph.circle:
        names = " → ".join(str(rank) for rank in (*graph.circle, graph.circle[0]))
        page.wrapped(say(lang, "html.circle", names=names), indent=2, style="bold red")
