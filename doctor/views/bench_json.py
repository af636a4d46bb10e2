"""A collective test as JSON, schema 1. Bytes, seconds and B/s; changes only ever add."""

from __future__ import annotations

import json
from typing import Any

import doctor
from doctor.session.bench import Result, expectation
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
        "rows": [_row(result, at) for at in range(len(result.rows))],
        "pairs": _pairs(result),
        "lost": _lost(result),
        "not_measured": [
            {"operation": left.operation, "bytes": left.bytes, "why": left.why} for left in result.skipped
        ],
        "findings": as_data(report, lang)["findings"],
    }
    return json_safe(json.dumps(data, ensure_ascii=False, indent=1)) + "\n"


def _row(result: Result, at: int) -> dict[str, Any]:
    row = result.rows[at]
    known = expectation(result, row)
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
    }
