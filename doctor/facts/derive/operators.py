"""Communication of a trace table by kind, from the names of its operations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("trace.op_times",)
KINDS: Mapping[str, re.Pattern[str]] = {
    # NCCL does an all-to-all with its send-receive kernel; DeepEP calls the two halves dispatch and combine.
    "trace.all_to_all_time": re.compile(r"all[-_ ]?to[-_ ]?all|alltoall|a2a|dispatch|combine|sendrecv", re.IGNORECASE),
    "trace.all_gather_time": re.compile(r"all[-_ ]?gather", re.IGNORECASE),
    "trace.all_reduce_time": re.compile(r"all[-_ ]?reduce", re.IGNORECASE),
}
GIVES = tuple(KINDS)


def derive(store: FactStore) -> Iterator[Fact]:
    """The sum of the operations of each kind of collective that the table names."""
    for fact in store.every("trace.op_times"):
        if not isinstance(fact.value, tuple):
            continue
        for name, pattern in KINDS.items():
            total = sum(time for text in fact.value if (time := _time(str(text), pattern)) is not None)
            if total > 0:
                sources = fact.because or (fact.source,)
                yield Fact(name, total, fact.entity, Source("derived"), None, Quality.DERIVED, sources)


def _time(text: str, pattern: re.Pattern[str]) -> float | None:
    name, _, value = text.rpartition("=")
    if not pattern.search(name):
        return None
    try:
        return float(value)
    except ValueError:
        return None
