"""The cases whose cause is not named first, and what stood in the way."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.rulebase.model import RuleBase
from doctor.rulebase.truth import Truth
from studies.cases import Answer, source_of
from studies.table import table


def why(answer: Answer, base: RuleBase) -> str:
    """What became of the rules of the right cause: ruled out by which signals, or outdone."""
    wanted = [rule.id for rule in base.rules.values() if rule.cause == answer.case.cause]
    diagnosis = answer.report.diagnosis
    for finding in diagnosis.findings:
        if finding.rule.id in wanted:
            return f"{finding.rule.id} stands at {finding.belief:.2f} as {finding.role}"
    for out in diagnosis.ruled_out:
        if out.rule.id not in wanted:
            continue
        asked = [*out.rule.condition.all, *out.rule.condition.any]
        absent = [o for o in out.outcomes if o.signal in asked and o.truth is not Truth.TRUE]
        against = [o for o in out.outcomes if o.signal in out.rule.condition.none and o.truth is Truth.TRUE]
        parts = [f"`{o.signal}` {'not known' if o.truth is Truth.UNKNOWN else 'not seen'}" for o in absent]
        parts += [f"`{o.signal}` speaks against it" for o in against]
        return f"{out.rule.id} at {out.belief:.2f}: {', '.join(parts) or 'too little speaks for it'}"
    return "no rule for this cause"


def section(given: Sequence[Answer], base: RuleBase) -> str:
    rows = [
        (
            source_of(answer.case),
            answer.case.cause,
            f"{answer.named} ({answer.belief:.2f})" if answer.named else "nothing",
            why(answer, base),
        )
        for answer in given
        if not answer.case.healthy and not answer.right
    ]
    swaps = [
        (source_of(answer.case), answer.case.cause, f"{answer.named} ({answer.belief:.2f})")
        for answer in given
        if answer.right and answer.named != answer.case.cause
    ]
    alarms = [
        (source_of(answer.case), ", ".join(f"{f.rule.cause} ({f.belief:.2f})" for f in answer.alarms))
        for answer in given
        if answer.case.healthy and answer.alarms
    ]
    return "\n".join(
        [
            f"Misses: {len(rows)}.",
            "",
            table(("case", "cause", "named", "rule of the right cause"), rows),
            "",
            f"Counted as right although another cause was named, which the case accepts: {len(swaps)}.",
            "",
            table(("case", "cause", "named"), swaps),
            "",
            f"False alarms on healthy cases: {len(alarms)}."
            + ("\n\n" + table(("case", "alarm"), alarms) if alarms else ""),
        ]
    )
