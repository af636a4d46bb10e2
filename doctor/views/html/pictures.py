"""The pictures of a report: the ranks, who waits for whom, where time and memory go, the loads of experts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.facts.ranks import ranges
from doctor.messages import TEXTS
from doctor.session.heat import Heat, Row, heat_of
from doctor.session.heat import folded as fold_heat
from doctor.session.held import memory_of
from doctor.session.pictures import Bar, Picture, pictures_of
from doctor.session.rank_map import RankGroup, RankMap, RankState, rank_map_of
from doctor.session.wait_graph import WaitGraph, Waits, wait_graph_of
from doctor.views import present
from doctor.views.html.context import Context, folded, table
from doctor.views.markup import Markup, el
from doctor.views.svg import bars, heat, ranks, waits

DRAWN, UNFOLDED, GROUPS, UNIFORM, EDGES = 16, 240, 256, 16, 12
"""Bars that are drawn, and drawn in a fold; hosts on the map, and up to which all are shown; edges of the graph."""
MOST_ROWS, MOST_COLUMNS = 64, 256
"""Of the loads of experts."""
MILLISECONDS = 0.5
"""Seconds below which a time is told in milliseconds."""


def pictures(context: Context) -> list[Markup]:
    """All pictures that the facts give, each as a figure."""
    store = context.report.store
    found: list[Markup] = []
    if (known := rank_map_of(context.report)) is not None:
        found.append(_ranks(context, known))
    if (graph := wait_graph_of(store)) is not None:
        found.append(_waits(context, graph))
    held = memory_of(store)
    found += [_bars(context, picture) for picture in (*pictures_of(store), *([held] if held else ()))]
    if (loads := heat_of(store)) is not None:
        found.append(_heat(context, loads))
    return found


def figure(title: str, *children: Markup | None) -> Markup:
    return el("figure", el("figcaption", title[:1].upper() + title[1:]), children)


def legend(entries: Iterable[tuple[Markup, str]]) -> Markup:
    return el("ul", [el("li", sample, " ", words) for sample, words in entries], class_="legend")


def _ranks(context: Context, known: RankMap) -> Markup:
    """Hosts on which something stands out; on large jobs those that are all alike are folded."""
    states = [
        (ranks.key(state), f"{context.say(f'html.rank.{state}')}: {len(names)} ({ranges(names)})")
        for state, names in known.counts.items()
    ]
    common = max(known.counts, key=lambda state: len(known.counts[state]))
    alike = [group for group in known.groups if all(state is common for _, state in group.ranks)]
    if len(known.groups) <= UNIFORM:
        alike = []
    told = [group for group in known.groups if group not in alike] if alike else list(known.groups)
    more = None
    if alike:
        summary = context.say("html.ranks.alike", n=len(alike), state=context.say(f"html.rank.{common}"))
        more = folded(summary, *_blocks(context, alike))
    return figure(context.say("html.ranks"), legend(states), *_blocks(context, told), more)


def _blocks(context: Context, groups: Sequence[RankGroup]) -> list[Markup]:
    drawn = el("div", [_group(context, group) for group in groups[:GROUPS]], class_="map")
    rest = len(groups) - GROUPS
    return [drawn, el("p", context.say("html.cut", n=rest), class_="dim")] if rest > 0 else [drawn]


def _group(context: Context, group: RankGroup) -> Markup:
    numbers = [rank for rank, _ in group.ranks]
    spot = context.count("place.rank", len(numbers), names=ranges(numbers))
    by_state: dict[RankState, list[int]] = {}
    for rank, state in group.ranks:
        by_state.setdefault(state, []).append(rank)
    told = [f"{context.say(f'html.rank.{state}')} {ranges(of)}" for state, of in by_state.items()]
    name = f"{group.host} · {spot}" if group.host else spot
    says = context.say("html.ranks.of", where=group.host or spot, states=context.say("list.and").join(told))
    return el("div", el("span", name, class_="host"), ranks.cells(group.ranks, says), class_="node")


def _waits(context: Context, graph: WaitGraph) -> Markup:
    drawn = [_edge(context, edge, graph) for edge in graph.edges[:EDGES]]
    rest = len(graph.edges) - EDGES
    more = el("p", context.say("html.cut", n=rest), class_="dim") if rest > 0 else None
    circle = None
    if graph.circle:
        names = " → ".join(map(str, (*graph.circle[:16], graph.circle[0])))
        circle = el("p", context.say("html.circle", names=names), class_="note")
    return figure(context.say("html.waits"), *drawn, more, circle)


def _edge(context: Context, edge: Waits, graph: WaitGraph) -> Markup:
    who, whom = (context.count("place.rank", len(some), names=ranges(some)) for some in (edge.waiters, edge.awaited))
    known = f"html.wait.{edge.why}"
    why = context.say(known) if known in TEXTS else edge.why
    says = context.say("html.waits.one", who=who, whom=whom, call=edge.call, why=why)
    culprit = bool(set(edge.awaited) & set(graph.culprits))
    words = el("p", el("code", edge.call), " ", el("span", why, class_="dim"), class_="call")
    return el("div", waits.edge(who, whom, says, culprit), words, class_="edge")


def _bars(context: Context, picture: Picture) -> Markup:
    rows = [_bar(context, bar) for bar in picture.bars[: DRAWN + UNFOLDED]]
    rest = rows[DRAWN:]
    more = folded(context.say("html.bars.more", n=len(rest)), rest) if rest else None
    left = len(picture.bars) - len(rows)
    hidden = el("p", context.say("html.bars.rest", n=left), class_="dim") if left > 0 else None
    kinds = list(dict.fromkeys(part.kind for bar in picture.bars for part in bar.parts))
    entries = [(bars.key(kind), context.say(f"part.{kind}")) for kind in kinds]
    heads = ["", *(context.say(f"part.{kind}") for kind in kinds)]
    figures = table(heads, (_figures(context, bar, kinds) for bar in picture.bars[: DRAWN + UNFOLDED]), "num")
    return figure(
        context.say(f"picture.{picture.kind}"), *rows[:DRAWN], more, hidden, legend(entries),
        folded(context.say("html.numbers"), figures),
    )  # fmt: skip


def _whole(context: Context, bar: Bar) -> str:
    if bar.bytes:
        return present.size(bar.bytes)
    if bar.seconds < MILLISECONDS:
        return f"{1000 * bar.seconds:.3g} ms"
    return present.seconds(bar.seconds, context.lang)


def _bar(context: Context, bar: Bar) -> Markup:
    name = present.places([bar.entity], context.lang)
    pieces = [bars.Piece(p.kind, p.share, f"{context.say(f'part.{p.kind}')} {p.share:.1%}") for p in bar.parts]
    says = f"{name}, {_whole(context, bar)}: " + context.say("list.and").join(piece.words for piece in pieces)
    return labelled(name, bars.bar(pieces, says), _whole(context, bar))


def labelled(name: str, picture: Markup, whole: str = "") -> Markup:
    """A picture with its name before and a figure after it."""
    tail = el("span", whole, class_="whole") if whole else None
    return el("div", el("span", name, class_="name"), picture, tail, class_="row" if whole else "row two")


def _figures(context: Context, bar: Bar, kinds: Sequence[str]) -> list[str]:
    shares = {part.kind: part.share for part in bar.parts}
    return [present.places([bar.entity], context.lang), *(f"{shares.get(kind, 0.0):.1%}" for kind in kinds)]


def _heat(context: Context, loads: Heat) -> Markup:
    shown = fold_heat(loads, MOST_ROWS, MOST_COLUMNS)
    rows = [
        labelled(context.say("html.layer", name=_name(row)), heat.row(row, _says(context, row))) for row in shown.rows
    ]
    shades = [(name, mark) for _, name, mark in heat.SHADES] + [heat.HOTTEST]
    entries = [(heat.key(name, mark), context.say(f"html.heat.{name}")) for name, mark in shades]
    many = el("p", context.say("html.heat.experts", n=shown.experts), class_="dim small") if shown.experts > 1 else None
    return figure(context.say("picture.experts"), *rows, legend(entries), many)


def _name(row: Row) -> str:
    return row.layers[0] if len(row.layers) == 1 else f"{row.layers[0]}-{row.layers[-1]}"


def _says(context: Context, row: Row) -> str:
    most, least = max(row.loads), min(row.loads)
    span = f"{least:.2f} – {most:.2f}"
    return f"{context.say('html.layer', name=_name(row))}: {context.say('html.load', times=span)}"
