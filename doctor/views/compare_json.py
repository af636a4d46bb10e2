"""A comparison of two runs as JSON, for programs. Changes to it only ever add."""

from __future__ import annotations

import json
from typing import Any

import doctor
from doctor.session.compare import Change, Comparison
from doctor.views import compare_words as words
from doctor.views.safe import json_safe

SCHEMA = 1


def render(comparison: Comparison, lang: str) -> str:
    """The comparison as a JSON document."""
    return json_safe(json.dumps(as_data(comparison, lang), ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def as_data(comparison: Comparison, lang: str) -> dict[str, Any]:
    """Quantities are in the unit beside them: s, B, 1 (a share), tokens/s ... ; an interval is of after - before."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "pdoctor compare", "version": doctor.__version__},
        "before": comparison.before,
        "after": comparison.after,
        "verdict": comparison.verdict,
        "reasons": words.reasons(comparison, lang),
        "differences": [{"what": d.what, "before": d.before, "after": d.after} for d in comparison.differences],
        "changes": [_change(change, lang) for change in comparison.changes],
        "kernels": [
            {
                "name": kernel.name,
                "unit": "1" if comparison.shared else "s",
                "before": kernel.before,
                "after": kernel.after,
                "at_most": kernel.at_most,
                "state": None if kernel.judged is None else str(kernel.judged.state),
                "text": words.kernel(kernel, comparison.shared, lang),
            }
            for kernel in comparison.kernels
        ],
        "findings": [
            {
                "state": change.state,
                "why": change.why or None,
                "rule": change.finding.rule,
                "cause": change.finding.cause,
                "severity": change.finding.severity,
                "text": words.finding(change, lang),
            }
            for change in comparison.findings
        ],
        "notes": words.notes(comparison, lang),
    }


def _change(change: Change, lang: str) -> dict[str, Any]:
    judged = change.judged
    return {
        "what": change.measure.name,
        "unit": change.measure.unit,
        "before": judged.before,
        "after": judged.after,
        "relative": judged.relative,
        "interval": None if judged.low is None else [judged.low, judged.high],
        "noise": change.noise,
        "values": list(change.counts),
        "state": str(judged.state),
        "text": words.told(change, lang),
        "sources": {
            side: [{"path": source.path, "line": source.line} for source in sources]
            for side, sources in zip(("before", "after"), change.sources, strict=True)
        },
    }
