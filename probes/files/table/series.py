"""Tables with a row a training step: how long it took, and on which rank longest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from doctor.facts.model import Fact, Source
from probes.files.table.cells import Table, to_number
from probes.files.table.columns import UNITS

MOST_ROWS = 2000
FEWEST = 4
_STEP = re.compile(r"^(?:global[_ ]?)?(?:step|iter|iteration)s?$", re.IGNORECASE)
_TIME = re.compile(
    r"^(?:(?:step|iter|iteration|wall|elapsed|max|slowest)[_ ]?)?(?:time|duration|elapsed|rank)?[_ (\[]*"
    r"(?P<unit>ms|s|sec|seconds)[)\]]?$"
    r"|^(?:step|iter|iteration)[_ ]?time$",
    re.IGNORECASE,
)
_RANK = re.compile(r"^(?:slowest|slow|max|straggler|worst)[_ ]?rank$|^rank$", re.IGNORECASE)
_ONE_RANK = re.compile(r"^(?:rank|r|gpu)[_ ]?(?P<rank>\d{1,5})(?:[_ (]*(?P<unit>ms|s|sec|seconds)\)?)?$", re.IGNORECASE)


def series_facts(path: str, table: Table) -> Iterator[Fact]:
    """`series.row` of each step: `step=N seconds=S`, with `rank=R spread=X` where the table tells the ranks apart."""
    heading = [title.strip() for title in table.heading.cells]
    step = next((index for index, title in enumerate(heading) if _STEP.match(title)), None)
    if step is None or len(table.rows) < FEWEST:
        return
    ranks = {index: match for index, title in enumerate(heading) if (match := _ONE_RANK.match(title))}
    time = next((index for index, title in enumerate(heading) if _TIME.match(title)), None)
    rank = next((index for index, title in enumerate(heading) if _RANK.match(title)), None)
    for row in table.rows[:MOST_ROWS]:
        number = to_number(row.cells[step])
        if number is None:
            continue
        text = f"step={int(number)}"
        if len(ranks) > 1:
            values = {int(m["rank"]): v * _scale(m["unit"]) for i, m in ranks.items() if (v := to_number(row.cells[i]))}
            if len(values) < 2:
                continue
            slowest = max(values, key=lambda who: values[who])
            spread = values[slowest] / median(values.values())
            text += f" seconds={values[slowest]:g} rank={slowest} spread={spread:g}"
        elif time is not None and (value := to_number(row.cells[time])) is not None:
            found = _TIME.match(heading[time])
            text += f" seconds={value * _scale(found['unit'] if found else None):g}"
            if rank is not None and (who := to_number(row.cells[rank])) is not None:
                text += f" rank={int(who)}"
        else:
            continue
        yield Fact("series.row", text, "job", Source("table", path, row.line, row.text[:1000]))


def _scale(unit: str | None) -> float:
    """Seconds in the unit; a table without one is taken for seconds."""
    return UNITS.get((unit or "s").lower(), 1.0)
