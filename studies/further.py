"""The same figures on reports that came after the rules were written."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.rulebase.model import RuleBase
from studies.cases import Answer
from studies.misses import why
from studies.reliability import bins, brier, misled, points
from studies.table import percent, table


def section(given: Sequence[Answer], base: RuleBase) -> str:
    """Figures over `given`, their reliability by bin, and what was missed."""
    if not given:
        return "None were given (`--further`)."
    found = points(given)
    right = sum(ok for _, ok in found)
    calm = [answer for answer in given if answer.case.healthy]
    rows = [
        (f"{low:.1f} to {high:.1f}", len(inside), percent(sum(ok for _, ok in inside), len(inside)))
        for low, high, inside in bins(found)
    ]
    missed = [
        (answer.case.cause, f"{answer.named} ({answer.belief:.2f})" if answer.named else "nothing", why(answer, base))
        for answer in given
        if not answer.case.healthy and not answer.right
    ]
    return "\n".join(
        [
            f"{len(found)} further reports with a fault and {len(calm)} healthy ones. Their answers were fixed before "
            "pdoctor first read them, but **the rules were mended on most of them afterwards**: these are figures of "
            "reports mended on, not of unseen ones, and the rate on a report that nobody has looked at lies below.",
            "",
            f"First root right in {right} ({percent(right, len(found))}); Brier {brier(found):.3f}; healthy without an "
            f"alarm {sum(not answer.alarms for answer in calm)} of {len(calm)}; misled at 0.5 or more in "
            f"{sum(map(misled, given))}.",
            "",
            table(("confidence of the first root", "reports", "right"), rows),
            "",
            table(("cause", "named", "rule of the right cause"), missed),
        ]
    )
