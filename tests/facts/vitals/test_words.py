"""What vitals give as a value is said in the language of the report."""

from __future__ import annotations

import re

import pytest

from doctor.facts.vitals.stream import PAUSES
from doctor.facts.vitals.tell import TIMED
from doctor.facts.vitals.trends import RATES
from doctor.rulebase.load import load_rulebase

BASE = load_rulebase().base
VALUES = {
    "live.slow_rank_of": set(TIMED.values()),
    "live.slowdown_of": {*RATES, "step time"},
    "live.phase": {*PAUSES.values()} - {""},
}
LIVE = sorted(rule.id for rule in BASE.rules.values() if rule.id.startswith("LIV"))


@pytest.mark.parametrize("name", VALUES)
def test_every_value_has_its_words(name: str) -> None:
    words = BASE.catalogue[name].words
    assert words.keys() >= VALUES[name]
    assert all(word["en"] and word["zh"] for word in words.values())


@pytest.mark.parametrize("rule", LIVE)
def test_no_note_of_a_watched_job_shows_a_value_without_words(rule: str) -> None:
    shown = {name for text in BASE.rules[rule].evidence.values() for name in re.findall(r"\{([\w.]+)", text.zh)}
    assert {name for name in shown if BASE.catalogue[name].type == "str"} <= VALUES.keys()
