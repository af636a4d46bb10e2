from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log2
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from doctor.engine import diagnose
from doctor.engine.information import information
from doctor.engine.model import Diagnosis
from doctor.facts.model import Fact, FactSpec, Quality, Scope
from doctor.facts.store import FactStore
from doctor.rulebase.load import read_files
from doctor.rulebase.model import Answer, Question, RuleBase, Text
from tests.support import CATALOGUE, EVENTS, event, rule_file, rule_text, store

TOLD = {
    name: FactSpec(name, "bool", "1", Scope.JOB, name, ("question",))
    for name in ("told.left", "told.right", "told.dull", "told.late")
}
SIDE = """
signals:
  oom: {{event: torch.cuda_oom, seen: {{if_cause: usually, otherwise: rarely}}}}
  side: {{when: {side}, seen: {{if_cause: usually, otherwise: rarely}}, group: answer}}
  dull: {{when: told.dull, seen: {{if_cause: often, otherwise: sometimes}}, group: answer}}
condition: {{all: [oom]}}
"""


def question(fact: str, cost: float = 10, asks_when: str = "") -> Question:
    answers = (Answer("yes", Text("yes"), {fact: True}), Answer("no", Text("no"), {fact: False}))
    return Question(fact.rpartition(".")[2], Text(f"{fact}?"), Text("why"), answers, cost, asks_when)


def base(tmp_path: Path, *questions: Question) -> RuleBase:
    """Two rules seen by the same message; each believes in another side."""
    texts = {
        "R0.yaml": rule_text("T001", "cause-left", body=SIDE.format(side="told.left")),
        "R1.yaml": rule_text("T002", "cause-right", body=SIDE.format(side="not told.left")),
    }
    files = [(rule_file(tmp_path, text, f"oom/{name}"), f"rules/oom/{name}") for name, text in texts.items()]
    loaded = read_files(files, {**CATALOGUE, **TOLD}, EVENTS)
    assert not loaded.problems
    return replace(loaded.base, questions={q.id: q for q in questions})


def job(*facts: Fact) -> FactStore:
    return store(event("torch.cuda_oom"), *facts)


def asked(diagnosis: Diagnosis) -> list[str]:
    return [step.asks for step in diagnosis.questions]


def said(name: str, value: bool) -> Fact:
    return Fact(name, value, quality=Quality.ANSWERED)


def beliefs(diagnosis: Diagnosis) -> Mapping[str, float]:
    return {finding.rule.id: finding.belief for finding in diagnosis.findings}


def test_what_separates_two_equal_rivals_is_asked_first(tmp_path: Path) -> None:
    rules = base(tmp_path, question("told.dull"), question("told.left"))
    diagnosis = diagnose(job(), rules)
    assert asked(diagnosis)[0] == "left"
    assert set(diagnosis.questions[0].separates) == {"cause-left", "cause-right"}


def test_of_two_that_tell_as_much_the_cheaper_is_asked_first(tmp_path: Path) -> None:
    twice = replace(question("told.left", cost=90), id="costly")
    assert asked(diagnose(job(), base(tmp_path, twice, question("told.left")))) == ["left", "costly"]


def test_what_is_known_or_was_asked_is_not_asked_again(tmp_path: Path) -> None:
    rules = base(tmp_path, question("told.left"))
    assert asked(diagnose(job(said("told.left", True)), rules)) == []
    assert asked(diagnose(job(), rules, frozenset({"left"}))) == []


def test_a_question_without_use_or_sense_is_not_asked(tmp_path: Path) -> None:
    senseless = question("told.left", asks_when="not seen('torch.cuda_oom')")
    assert asked(diagnose(job(), base(tmp_path, senseless, question("told.late")))) == []


def test_an_answer_changes_the_ranking(tmp_path: Path) -> None:
    rules = base(tmp_path, question("told.left"))
    left = beliefs(diagnose(job(said("told.left", True)), rules))
    right = beliefs(diagnose(job(said("told.left", False)), rules))
    assert left["T001"] > 0.5 > left["T002"] and right["T002"] > 0.5 > right["T001"]


def test_not_to_know_changes_nothing(tmp_path: Path) -> None:
    rules = base(tmp_path, question("told.left"))
    assert beliefs(diagnose(job(), rules, frozenset({"left"}))) == beliefs(diagnose(job(), rules))


def test_a_certain_root_asks_nothing(tmp_path: Path) -> None:
    rules = base(tmp_path, question("told.left"), question("told.dull"))
    sure = {key: replace(rule, prior=0.9) if key == "T001" else rule for key, rule in rules.rules.items()}
    assert asked(diagnose(job(said("told.left", True)), replace(rules, rules=sure))) == []


def test_without_a_root_the_suspects_are_asked_about(tmp_path: Path) -> None:
    rules = base(tmp_path, question("told.left"))
    diagnosis = diagnose(FactStore(), rules)
    assert diagnosis.verdict == "undetermined" and not diagnosis.roots
    assert asked(diagnosis) == ["left"]
    assert {suspect.rule for suspect in diagnosis.suspects} == {"T001", "T002"}


def entropy(shares: list[float]) -> float:
    return -sum(p * log2(p) for p in shares if p > 0)


def normalised(parts: list[float]) -> list[float]:
    return [part / sum(parts) for part in parts]


positive = st.floats(0.001, 1)


@given(
    st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(positive, min_size=n, max_size=n), min_size=2, max_size=6))
)
def test_the_expected_doubt_never_rises_and_the_gain_is_its_drop(rows: list[list[float]]) -> None:
    prior = normalised([row[0] for row in rows])
    likelihoods = [normalised(row) for row in rows]
    gain = information(prior, likelihoods)
    after = 0.0
    for index in range(len(rows[0])):
        joint = [p * row[index] for p, row in zip(prior, likelihoods, strict=True)]
        after += sum(joint) * entropy(normalised(joint))
    assert 0 <= gain <= entropy(prior) + 1e-9
    assert abs(gain - (entropy(prior) - after)) < 1e-9
