"""The environment variables of NCCL and of PyTorch's NCCL backend: `tables/nccl_env.csv`, and how a name is misspelt.

Names, types and versions are those of NCCL's documentation and of its public tags 2.3.5 to 2.30.7. `when` is the value
that deserves a remark: `=1`, `<4`, words of which the value holds one, or `any`; `danger` is the kind of remark.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

OTHERS = re.compile(
    r"^NCCL_(?:OFI|TUNER|PROFILER|ENV_PLUGIN|NET_PLUGIN|SHARP|UCX|PLUGIN|IBEXT|GPUDIRECTTCPX|FASTRAK|TCPXO?|SHIMNET|INSPECTOR"
    r"|NVTX|TESTS?|GPUVIZ|RCCL|AWS|GCP|AZURE|MSCCL|ACCL)(?:_|$)"
    r"|^NCCL_(?:VERSION|HOME|ROOT|ROOT_DIR|DIR|PATH|PREFIX|LIB|LIBS|LIBRARY|LIBRARIES|LIB_DIR|LIB_PATH|INCLUDE|INCLUDE_DIR|INCLUDE_PATH"
    r"|SO_PATH|SRC|STATIC|PACKAGE|DYNAMIC_CHUNK_SIZE|BUILDDIR|LIBRARY_PATH)$"
)
"""Variables of plug-ins, nccl-tests, clouds and builds begin with NCCL_ too; NCCL itself does not read them."""
PREFIX = re.compile(r"^(?:NCCL|NCC|NCL|NCLL|NNCL|NCCLL|NCCCL|TORCH_NCCL)_")
MAX_NAME = 64
_TABLE = Path(__file__).parent / "tables" / "nccl_env.csv"


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable. `kind` is int, bool, level, choice, names, algo, proto, subsys or text.

    `since` is the first version that has it; at version `at` it was renamed, removed, deprecated, or last seen (gone).
    `agree` marks those that all ranks of a job must have alike.
    """

    name: str
    program: str
    kind: str
    low: int | None
    high: int | None
    choices: tuple[str, ...]
    since: str
    fate: str
    at: str
    successor: str
    agree: bool
    when: str
    danger: str
    en: str
    zh: str


@cache
def variables() -> Mapping[str, Variable]:
    """All variables by name."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return MappingProxyType({row["name"]: _variable(row) for row in csv.DictReader(file)})


def _variable(row: Mapping[str, str]) -> Variable:
    low, high = (int(row[key]) if row[key] else None for key in ("low", "high"))
    return Variable(
        name=row["name"],
        program=row["program"],
        kind=row["kind"],
        low=low,
        high=high,
        choices=tuple(filter(None, row["choices"].split("|"))),
        since=row["since"],
        fate=row["fate"],
        at=row["at"],
        successor=row["successor"],
        agree=row["agree"] == "yes",
        when=row["when"],
        danger=row["danger"],
        en=row["en"],
        zh=row["zh"],
    )


@cache
def suggestion(name: str) -> str:
    """The variable that `name` was meant to be, "" if it is known, another program's, or like none.

    Like another is a name with its words in another order, with underscores left out or added, or with at most two
    letters wrong, swapped, missing or too many.
    """
    known = variables()
    if len(name) > MAX_NAME or name in known or OTHERS.match(name) or not PREFIX.match(name):
        return ""
    words, joined = sorted(name.split("_")), name.replace("_", "")
    for other in known:
        if sorted(other.split("_")) == words or other.replace("_", "") == joined:
            return other
    near = [(distance(name, other), other) for other in known if abs(len(other) - len(name)) <= 2]
    best, other = min(near, default=(9, ""))
    return other if best <= (2 if len(name) >= 14 else 1) else ""


def distance(one: str, two: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, b in enumerate(two, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
