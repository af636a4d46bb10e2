from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.engine import diagnose
from doctor.engine.next_step import entropy, signal_gain
from doctor.facts.model import Fact
from tests.support import event, rule_text, rulebase, store

BODY = """
signals:
  oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}
  wide: {when: config.tp > 8, seen: {if_cause: usually, otherwise: rarely}}
condition: {all: [oom]}
differential: [{rule: T002, next: "probe:memory_snapshot", how: {en: a snapshot tells, zh: 快照可分辨}}]
"""


def test_what_tells_rivals_apart_and_what_is_missing_are_the_next_steps(tmp_path: Path) -> None:
    base = rulebase(tmp_path, rule_text(body=BODY), rule_text("T002", "model-states-exceed-capacity", prior="uncommon"))
    steps = {step.id: step for step in diagnose(store(event("torch.cuda_oom")), base).next_steps}
    assert steps["probe:memory_snapshot"].separates == ("allocator-fragmentation", "model-states-exceed-capacity")
    assert steps["fact:config.tp"].facts == ("config.tp",)


def test_a_known_fact_is_not_asked_for(tmp_path: Path) -> None:
    base = rulebase(tmp_path, rule_text(body=BODY), rule_text("T002", "model-states-exceed-capacity", prior="uncommon"))
    steps = diagnose(store(event("torch.cuda_oom"), Fact("config.tp", 2)), base).next_steps
    assert "fact:config.tp" not in {step.id for step in steps}


@given(st.floats(0.01, 0.99))
def test_learning_never_costs_knowledge(belief: float) -> None:
    from doctor.rulebase.model import Condition, Rule, Severity, Signal, Text

    signal = Signal("s", when="x", if_cause=0.9, otherwise=0.1)
    rule = Rule("T", "t", "c", Text(""), Severity.FATAL, 0.1, {"s": signal}, Condition(), Text(""))
    assert 0 <= signal_gain(rule, "s", belief) <= entropy(belief) + 1e-9


def test_even_odds_are_one_bit() -> None:
    assert entropy(0.5) == pytest.approx(1.0)
    assert entropy(0.0) == entropy(1.0) == 0.0


def test_what_is_only_computed_from_other_facts_is_not_asked_for(tmp_path: Path) -> None:
    body = BODY.replace("config.tp > 8", "job.idle > 8")
    base = rulebase(tmp_path, rule_text(body=body), rule_text("T002", "model-states-exceed-capacity", prior="uncommon"))
    steps = diagnose(store(event("torch.cuda_oom")), base).next_steps
    assert "fact:job.idle" not in {step.id for step in steps}
