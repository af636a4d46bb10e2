"""The sweep against counting every nanosecond."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from probes.files.trace.sweep import Spans, timeline, union

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15)), max_size=12)


def spans(pairs: list[tuple[int, int]]) -> Spans:
    starts = np.array([start for start, _ in pairs], dtype=np.int64)
    return union(starts, starts + np.array([length for _, length in pairs], dtype=np.int64))


def covered(pairs: list[tuple[int, int]]) -> set[int]:
    return {moment for start, length in pairs for moment in range(start, start + length)}


@given(SPANS, SPANS, SPANS)
def test_parts_add_up_as_if_counted(
    compute: list[tuple[int, int]], comm: list[tuple[int, int]], memory: list[tuple[int, int]]
) -> None:
    whole = timeline(spans(compute), spans(comm), spans(memory)).breakdown()
    c, n, m = covered(compute), covered(comm), covered(memory)
    assert (whole.busy, whole.compute, whole.comm) == (len(c | n | m), len(c), len(n))
    assert (whole.overlap, whole.exposed_comm, whole.exposed_memory) == (len(c & n), len(n - c), len(m - c - n))
    assert whole.busy == whole.compute + whole.exposed_comm + whole.exposed_memory


@given(SPANS, SPANS, st.integers(0, 80), st.integers(0, 40))
def test_a_window_holds_what_lies_in_it(
    compute: list[tuple[int, int]], comm: list[tuple[int, int]], start: int, length: int
) -> None:
    part = timeline(spans(compute), spans(comm), Spans()).breakdown(start, start + length)
    inside = set(range(start, start + length))
    c, n = covered(compute) & inside, covered(comm) & inside
    assert (part.span, part.busy, part.compute, part.exposed_comm) == (length, len(c | n), len(c), len(n - c))
