"""A collective test as a table like that of nccl-tests, with a verdict below it."""

from __future__ import annotations

from typing import IO, Any

from rich.cells import cell_len
from rich.text import Text

from doctor.messages_bench import say
from doctor.messages_probes import translated
from doctor.session.bench import GroupRow, Result, Row, common, expectation
from doctor.views.page import Page
from doctor.views.safe import visible

COLUMNS = (("operation", 15), ("size", 12), ("time", 11), ("algbw", 15), ("busbw", 15), ("wrong", 7), ("expected", 16))
GROUP_COLUMNS = (
    ("group", 26),
    ("operation", 15),
    ("size", 12),
    ("busbw", 12),
    ("siblings", 14),
    ("expected", 16),
)
MOST_NAMES, MOST_GROUPS = 8, 40


def print_bench(result: Result, file: IO[str], lang: str, color: bool = True) -> None:
    """Writes table and verdict to `file`."""
    page = Page()
    versions = "".join(_say(lang, "version", name=name, version=told) for name, told in result.versions.items())
    devices = ", ".join(sorted({member.device for member in result.members if member.device})) or "?"
    counts: dict[str, object] = {"ranks": len(result.members), "hosts": len(result.hosts)}
    page.wrapped(_say(lang, "head", device=devices, backend=result.backend, versions=versions, **counts))
    if result.rows:
        page.blank()
        page.row(Text(_line([_say(lang, name) for name, _ in COLUMNS]), "dim"))
        for row in result.rows:
            page.row(Text(_line(_cells(result, row)), "bold red" if row.wrong else ""))
    if result.groups:
        page.blank()
        page.row(Text(_line([_say(lang, name) for name, _ in GROUP_COLUMNS], GROUP_COLUMNS), "dim"))
        for one in _shown(result):
            style = "bold red" if one.row.wrong else "bold yellow" if one.slow else ""
            page.row(Text(_line(_group_cells(result, one), GROUP_COLUMNS), style))
    page.blank()
    for text, style in _remarks(result, lang):
        page.wrapped(text, 0, 2, style)
    page.print(file, color)


def _cells(result: Result, row: Row) -> list[str]:
    known = expectation(result, row)
    rates = [f"{rate / 1e9:.3f}" if rate < 1e10 else f"{rate / 1e9:.1f}" for rate in (row.algbw, row.busbw)]
    told = f"{known.busbw / 1e9:.1f}" if known else "-"
    return [row.operation, str(row.bytes), f"{row.seconds * 1e6:.1f}", *rates, str(row.wrong), told]


def _shown(result: Result) -> list[GroupRow]:
    """The slowest group of every role, operation and kind, and every slow one."""
    worst: dict[tuple[str, str, int], GroupRow] = {}
    for one in result.groups:
        key = (one.group.role, one.row.operation, one.hosts)
        if key not in worst or one.row.busbw < worst[key].row.busbw:
            worst[key] = one
    least = set(map(id, worst.values()))
    some = [one for one in result.groups if id(one) in least or one.slow or one.row.wrong]
    return some[:MOST_GROUPS]


def _group_cells(result: Result, one: GroupRow) -> list[str]:
    known = expectation(result, one.row, one.hosts)
    usual = f"{one.usual / 1e9:.3f}" if one.usual else "-"
    rates = [f"{one.row.busbw / 1e9:.3f}", usual, f"{known.busbw / 1e9:.1f}" if known else "-"]
    return [str(one.group), one.row.operation, str(one.row.bytes), *rates]


def _line(cells: list[str], columns: tuple[tuple[str, int], ...] = COLUMNS) -> str:
    padded = []
    for at, (cell, (_, width)) in enumerate(zip(cells, columns, strict=True)):
        blank = " " * max(0, width - cell_len(cell))
        padded.append(cell + blank if at == 0 else blank + cell)
    return "".join(padded).rstrip()


def _remarks(result: Result, lang: str) -> list[tuple[str, str]]:
    """Everything below the table, the bad first, as (text, style)."""
    found: list[tuple[str, str]] = []
    if lost := result.lost:
        names = _names(result, lost.ranks)
        values: dict[str, Any] = _told(lang, operation=lost.operation, why=lost.why) | {"size": lost.bytes}
        found.append((_say(lang, "lost" if names else "stalled", names=names, **values), "bold red"))
        found += _narrowed(result, lang)
    for row in (*result.rows, *(one.row for one in result.groups)):
        if row.wrong:
            text = _say(lang, "wrong_values", operation=row.operation, size=row.bytes, count=row.wrong)
            found.append((text, "bold red"))
    found += _groups(result, lang)
    found += _pairs(result, lang)
    if result.rows and not any(expectation(result, row) for row in result.rows):
        found.append((_say(lang, "no_expectation" if result.backend == "gloo" else "no_published"), ""))
    for left in result.skipped:
        told = _told(lang, operation=left.operation, why=left.why)
        found.append((_say(lang, "skipped", size=left.bytes, **told), "yellow"))
    return found


def _told(lang: str, **words: str) -> dict[str, str]:
    """What the probe says, in the language of the report."""
    return {name: translated(text, lang) for name, text in words.items()}


def _narrowed(result: Result, lang: str) -> list[tuple[str, str]]:
    narrowed = result.lost.narrowed if result.lost else None
    if narrowed is None:
        return []
    counts: dict[str, object] = {"count": len(narrowed.ranks), "ranks": len(result.members), "tries": narrowed.tries}
    found = [(_say(lang, "narrowed", names=_names(result, narrowed.ranks), **counts), "bold red")]
    return found + [(_say(lang, "narrowed_well", names=_names(result, ranks)), "") for ranks in narrowed.passed]


def _names(result: Result, ranks: tuple[int, ...]) -> str:
    names = ", ".join(result.name(rank) for rank in ranks[:MOST_NAMES])
    return names + (f" (+{len(ranks) - MOST_NAMES})" if len(ranks) > MOST_NAMES else "")


def _groups(result: Result, lang: str) -> list[tuple[str, str]]:
    found = []
    for blame in result.blames:
        rows = [one for one in result.groups if one.slow and one.group in blame.groups]
        share = f"{min(one.row.busbw / one.usual for one in rows):.0%}"
        key = {"link": "slow_path", "members": "slow_members"}.get(blame.kind, "slow_member")
        groups = ", ".join(map(str, blame.groups))
        name = common(result, blame)
        found.append((_say(lang, key, name=name, share=share, count=len(blame.groups), groups=groups), "bold yellow"))
    groups_of = {one.group for one in result.groups}
    judged = {one.group for one in result.groups if one.usual}
    if judged and not result.blames:
        found.append((_say(lang, "groups_fine", count=len(judged)), "green"))
    if judged and (left := len(groups_of - judged)):
        found.append((_say(lang, "groups_alone", count=left), "dim"))
    return found


def _pairs(result: Result, lang: str) -> list[tuple[str, str]]:
    verdict = result.verdict
    if verdict is None:
        return []
    found: list[tuple[str, str]] = []
    if not verdict.judged:
        found.append((_say(lang, "unjudged", why=translated(verdict.why, lang)), "yellow"))
    for node in verdict.nodes:
        name, share = result.name(result.units[node]), f"{verdict.share[node]:.0%}"
        found.append((_say(lang, "slow", name=name, share=share), "bold yellow"))
    for link in verdict.links:
        name = " - ".join(result.name(result.units[end]) for end in link)
        found.append((_say(lang, "link", name=name, share=f"{verdict.share[link]:.0%}"), "bold yellow"))
    if verdict.judged and not verdict.nodes and not verdict.links:
        rate = f"{verdict.usual.rate / 1e9:.2f}"
        found.append((_say(lang, "fine", tested=verdict.tested, rate=rate, size=result.pair_bytes), "green"))
    if left := verdict.pairs - verdict.tested:
        found.append((_say(lang, "untested", left=left, pairs=verdict.pairs), "dim"))
    if len(result.units) < len(result.members):
        found.append((_say(lang, "rails"), "dim"))
    return found


def _say(lang: str, key: str, **values: object) -> str:
    return visible(say(lang, key, **values))
