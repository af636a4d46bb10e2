"""The first remedy that pdoctor prints beside what cured the case, with a reviewed verdict on it.

Verdicts are kept in verdicts.yaml: number of the case, rule, remedy, accept | partly | no, and one line why. They
hold for that remedy of that rule only; when another one is printed first the case is not reviewed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruamel.yaml import YAML

from doctor.rulebase.model import Remedy
from doctor.views import present
from studies.cases import Answer, source_of
from studies.table import percent, table

VERDICTS = Path(__file__).with_name("verdicts.yaml")
SHOWN = 220
FIRST = (
    "At the first review 74 of 86 were accepted, 9 partly and 3 not; remedies were then reordered, given conditions "
    "or reworded as a kind, and two causes were told more exactly. The reviewer knew the cure and mended the rules: "
    "the verdicts are no independent opinion, and the last figure is again that of exercises with the answers at hand."
)
NOT_REVIEWED = ("not reviewed", "")

Key = tuple[int, str, str]


def read_verdicts(path: Path = VERDICTS) -> Mapping[Key, tuple[str, str]]:
    entries = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return {(int(e["case"]), str(e["rule"]), str(e["remedy"])): (str(e["verdict"]), str(e["why"])) for e in entries}


def first_remedy(answer: Answer) -> Remedy | None:
    """The first one that is not a warning against something."""
    return next((r for r in answer.first.rule.remedies if not r.avoid), None) if answer.first else None


def change_of(answer: Answer, remedy: Remedy) -> str:
    assert answer.first
    parts = [f"{name}: {text}" for name, text in present.changes(answer.first.rule, remedy, answer.report)]
    text = "; ".join(parts)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def section(given: Sequence[Answer], verdicts: Mapping[Key, tuple[str, str]]) -> str:
    rows: list[tuple[object, ...]] = []
    tally: Counter[str] = Counter()
    for answer in given:
        if answer.case.healthy:
            continue
        remedy = first_remedy(answer)
        if answer.first is None or remedy is None:
            rows.append((source_of(answer.case), answer.case.cause, "nothing", "-", answer.case.fix, "-", ""))
            continue
        verdict, why = verdicts.get((answer.case.number, answer.first.rule.id, remedy.id), NOT_REVIEWED)
        if answer.right:
            tally[verdict] += 1
        rows.append(
            (
                source_of(answer.case),
                answer.case.cause,
                f"{answer.named} ({answer.belief:.2f})",
                f"{remedy.title.en}: `{change_of(answer, remedy)}`",
                answer.case.fix,
                verdict,
                why,
            )
        )
    right = sum(tally.values())
    counts = ", ".join(f"{name} {tally[name]}" for name in ("accept", "partly", "no", "not reviewed"))
    return "\n".join(
        [
            f"Of {right} cases named right, the first remedy is accepted for **{tally['accept']}** "
            f"({percent(tally['accept'], right)}): {counts}. The yardstick is what the report says cured it.",
            "",
            FIRST,
            "",
            table(("case", "cause", "named", "first remedy", "what cured it", "verdict", "why"), rows),
        ]
    )
