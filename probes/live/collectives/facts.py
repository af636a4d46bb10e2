"""A collective test as facts."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.busbw_table import Published, published
from doctor.facts.model import Fact, Quality, Source, Value
from probes.live.collectives.model import Result, Row
from probes.live.collectives.siblings import Blame

NAME = "pdoctor bench"
MOST = 8
"""Ranks that are spelt out where one of many is slow."""


def expectation(result: Result, row: Row, hosts: int = 0) -> Published | None:
    """What is published for a row; nothing over gloo, or where the ranks have different cards. `hosts`: 0 for all."""
    devices = {member.device for member in result.members}
    if result.backend != "nccl" or len(devices) != 1:
        return None
    return published(devices.pop(), row.operation, row.ranks, hosts or len(result.hosts), row.bytes)


def facts_of(result: Result) -> list[Fact]:
    """Every fact of the test; what was not measured gives none."""
    return [_fact(*found) for found in _facts(result)]


def _fact(name: str, value: Value, entity: str) -> Fact:
    told = f"{entity}: {name} = {round(value, 6) if isinstance(value, float) else value}"
    return Fact(name, value, entity, Source("probe", NAME, 0, told), None, Quality.MEASURED)


def _facts(result: Result) -> Iterator[tuple[str, Value, str]]:
    yield "bench.backend", result.backend, "job"
    if result.members:
        yield "bench.ranks", len(result.members), "job"
        yield "bench.hosts", result.hosts, "job"
    yield from _rows(result)
    yield from _groups(result)
    yield from _pairs(result)
    if lost := result.lost:
        yield "bench.lost_in", f"{lost.operation} of {lost.bytes} B" if lost.bytes else lost.operation, "job"
        yield "bench.lost_why", lost.why, "job"
        if lost.ranks:
            yield "bench.lost_ranks", lost.ranks, "job"
        else:
            yield "bench.stalled", True, "job"
        if narrowed := lost.narrowed:
            yield "bench.stalled_among", narrowed.ranks, "job"
            if narrowed.passed:
                yield "bench.stalled_not_among", narrowed.passed[0], "job"


def _rows(result: Result) -> Iterator[tuple[str, Value, str]]:
    rows = [(row, len(result.hosts)) for row in result.rows] + [(one.row, one.hosts) for one in result.groups]
    if rows:
        yield "bench.wrong_values", sum(row.wrong for row, _ in rows), "job"
    if wrong := next((row for row, _ in rows if row.wrong), None):
        yield "bench.wrong_in", f"{wrong.operation} of {wrong.bytes} B", "job"
    reduces = [row for row in result.rows if row.operation == "all_reduce"]
    if reduces:
        yield "bench.latency", min(reduces, key=lambda row: row.bytes).seconds, "job"
    judged = [(row.busbw / known.busbw, row, known) for row, n in rows if (known := expectation(result, row, n))]
    if judged:
        share, row, known = min(judged, key=lambda one: one[0])
        yield "bench.busbw_share", share, "job"
        told = f"{row.operation} of {row.bytes} B: {row.busbw / 1e9:.1f} GB/s, {known.busbw / 1e9:.1f} published"
        yield "bench.busbw_worst", told, "job"


def _groups(result: Result) -> Iterator[tuple[str, Value, str]]:
    if not result.groups:
        return
    yield "bench.groups", len({one.group for one in result.groups}), "job"
    slow = [one for one in result.groups if one.slow]
    if not slow:
        return
    told = [f"{one.group} {one.row.operation} at {one.row.busbw / one.usual:.0%}" for one in slow]
    yield "bench.slow_groups", tuple(told), "job"
    yield "bench.slow_group_share", min(one.row.busbw / one.usual for one in slow), "job"
    if members := [common(result, blame) for blame in result.blames if blame.kind != "link"]:
        yield "bench.slow_group_member", "; ".join(members), "job"
    if paths := [common(result, blame) for blame in result.blames if blame.kind == "link"]:
        yield "bench.slow_group_path", ", ".join(paths), "job"


def common(result: Result, blame: Blame) -> str:
    """What slow groups have in common, as people know it."""
    if blame.kind == "host":
        return _host(result, blame.ranks[0])
    names = [result.name(rank) for rank in blame.ranks[:MOST]] + (["..."] if len(blame.ranks) > MOST else [])
    return (" | " if blame.kind == "members" else " - ").join(names)


def _pairs(result: Result) -> Iterator[tuple[str, Value, str]]:
    verdict = result.verdict
    if verdict is None:
        return
    yield "bench.pairs_judged", verdict.judged, "job"
    several = len(result.hosts) > 1
    if several:
        yield "bench.pair_rate", verdict.usual.rate, "job"
    for node in verdict.nodes:
        rank = result.units[node]
        name, entity = (
            ("bench.slow_share", f"node:{_host(result, rank)}")
            if several
            else ("bench.slow_rank_share", f"rank:{rank}")
        )
        yield name, verdict.share[node], entity
    if verdict.links:
        told = [" - ".join(result.name(result.units[end]) for end in link) for link in verdict.links]
        yield "bench.slow_link", ", ".join(told), "job"
        yield "bench.slow_link_share", min(verdict.share[link] for link in verdict.links), "job"


def _host(result: Result, rank: int) -> str:
    return next(member.host for member in result.members if member.rank == rank)
