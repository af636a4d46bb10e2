"""Ranks that print their own times in whatever form: the one that becomes slow is named."""

from __future__ import annotations

import pytest

from doctor.facts.vitals import Vitals
from doctor.rulebase.load import load_rulebase
from probes.files.log.elsewhere import matchers
from probes.files.log.growing import Growing
from probes.files.log.matcher import SMALL_ENGINES
from probes.files.log.patterns import Patterns
from tests.facts.vitals.jobs import known

PATTERNS = Patterns(tuple(load_rulebase().base.events.values()))
MATCHER = matchers(PATTERNS.texts, frozenset(), None, SMALL_ENGINES)[0]
FORMS = {
    "columns with the unit in the name": (
        "iteration {n:8d}/     200 | elapsed time per iteration (ms): {ms:.1f} | data time (ms): {data_ms:.1f} |"
        " lm loss: 2.100000E+00 |"
    ),
    "an object a step": '{{"rank": {rank}, "step": {n}, "loss": 2.1, "step_time_s": {s:.3f}, "data_time_s": {data:.4f}}}',
    "an object in milliseconds": (
        '{{"loss": 2.1, "global_step": {n}, "data_wait_ms": {data_ms:.2f}, "iter_time_ms": {ms:.2f}}}'
    ),
    "words": "step {n} loss 2.1 step_time {s:.3f}s data_time {data:.4f}s",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_rank_whose_data_comes_late(form: str) -> None:
    logs, vitals = {rank: Growing(f"rank{rank}.log", PATTERNS, MATCHER) for rank in range(4)}, Vitals()
    told: list[int] = []
    for n in range(1, 66):
        slow = n > 60
        for rank, log in logs.items():
            s, data = 0.9 if slow else 0.5, 0.4 if slow and rank == 2 else 0.001
            line = FORMS[form].format(n=n, rank=rank, s=s, ms=s * 1e3, data=data, data_ms=data * 1e3)
            vitals.see(log.feed(line.encode() + b"\n", 0.5 * n), 0.5 * n)
        facts = known(list(vitals.facts(0.5 * n)))
        if ("live.slow_rank", "rank:2") in facts:
            assert facts["live.slow_rank_of", "rank:2"] == "waiting for data"
            told.append(n)
    assert told == [64, 65]
