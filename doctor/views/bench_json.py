"""A collective test as JSON, schema 1. Bytes, seconds and B/s; changes only ever add."""

from __future__ import annotations

import json
from typing import Any

import doctor
from doctor.session.bench import GroupRow, Result, Row, common, expectation
from doctor.session.report import Report
from doctor.views.json import as_data
from doctor.views.safe import json_safe

SCHEMA = 1


def render(result: Result, report: Report, verdict: str, lang: str) -> str:
    """Table, pairs, who was lost, and the findings in the form that they have in reports."""
    data = {
        "schema": SCHEMA,
        "tool": {"name": "pdoctor", "version": doctor.__version__},
        "verdict": verdict,
        "backend": result.backend,
        "versions": dict(result.versions),
        "ranks": [{"rank": one.rank, "host": one.host, "device": one.device} for one in result.members],
        "rows": [_row(result, row) for row in result.rows],
        "groups": [_group(result, one) for one in result.groups],
        "slow_groups": [
            {
                "kind": blame.kind,
                "name": common(result, blame),
                "ranks": list(blame.ranks),
                "groups": [str(group) for group in blame.groups],
            }
            for blame in result.blames
        ],
        "pairs": _pairs(result),
        "lost": _lost(result),
        "not_measured": [
            {"operation": left.operation, "bytes": left.bytes, "why": left.why} for left in result.skipped
        ],
        "findings": as_data(report, lang)["findings"],
    }
    return json_safe(json.dumps(data, ensure_ascii=False, indent=1)) + "\n"


def _group(result: Result, one: GroupRow) -> dict[str, Any]:
    return {
        "role": one.group.role,
        "members": list(one.group.ranks),
        "hosts": one.hosts,
        "siblings_busbw": one.usual or None,
        "slow": one.slow,
        **_row(result, one.row, one.hosts),
    }


def _row(result: Result, row: Row, hosts: int = 0) -> dict[str, Any]:
    known = expectation(result, row, hosts)
    return {
        "operation": row.operation,
        "bytes": row.bytes,
        "seconds": row.seconds,
        "slowest_rank_seconds": row.slowest,
        "calls": row.calls,
        "algbw": row.algbw,
        "busbw": row.busbw,
        "wrong": row.wrong,
        "published": {"busbw": known.busbw, "source": known.source} if known else None,
    }


def _pairs(result: Result) -> dict[str, Any] | None:
    verdict = result.verdict
    if verdict is None:
        return None
    return {
        "judged": verdict.judged,
        "why": verdict.why,
        "bytes": result.pair_bytes,
        "usual": verdict.usual.rate,
        "spread": verdict.usual.spread,
        "slow": [{"name": result.name(result.units[n]), "share": verdict.share[n]} for n in verdict.nodes],
        "slow_links": [
            {"ends": [result.name(result.units[end]) for end in link], "share": verdict.share[link]}
            for link in verdict.links
        ],
        "tested": verdict.tested,
        "pairs": verdict.pairs,
        "rounds": verdict.rounds,
    }


def _lost(result: Result) -> dict[str, Any] | None:
    lost = result.lost
    if lost is None:
        return None
    names = [result.name(rank) for rank in lost.ranks]
    return {
        "ranks": list(lost.ranks),
        "names": names,
        "operation": lost.operation,
        "bytes": lost.bytes,
        "why": lost.why,
        "hangs_among": list(lost.narrowed.ranks) if lost.narrowed else None,
        "does_not_hang_among": [list(ranks) for ranks in lost.narrowed.passed] if lost.narrowed else [],
    }
