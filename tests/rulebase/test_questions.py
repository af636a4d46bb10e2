from __future__ import annotations

from pathlib import Path

import pytest

from doctor.rulebase.lint import lint
from doctor.rulebase.load import Loaded, read_files, read_rulebase
from tests.support import CATALOGUE, EVENTS, rule_file, rule_text

QUESTION = """
is_it_wide:
  text: {en: Is it wide?, zh: 宽吗？}
  why: {en: wide jobs fail, zh: 宽的作业会失败}
  cost: 10
  answers:
    yes: {text: {en: it is, zh: 是}, gives: {config.tp: 16}}
    no: {text: {en: it is not, zh: 否}, gives: {config.tp: 1}, share: 3}
"""
USER = """
signals:
  oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}
  wide: {when: config.tp > 8, seen: {if_cause: usually, otherwise: rarely}}
condition: {all: [oom]}
"""


def loaded(folder: Path, *questions: str) -> Loaded:
    texts = {f"questions/q{index}.yaml": text for index, text in enumerate(questions)}
    texts["oom/R0.yaml"] = rule_text(body=USER)
    files = [(rule_file(folder, text, name), f"rules/{name}") for name, text in texts.items()]
    return read_files(files, CATALOGUE, EVENTS)


def test_a_question_has_answers_that_give_facts(tmp_path: Path) -> None:
    question = loaded(tmp_path, QUESTION).base.questions["is_it_wide"]
    assert [(answer.key, dict(answer.gives), answer.share) for answer in question.answers] == [
        ("yes", {"config.tp": 16}, 1.0),
        ("no", {"config.tp": 1}, 3.0),
    ]
    assert question.text.get("zh") == "宽吗？" and question.cost == 10


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("config.tp: 16", "config.tpp: 16", "unknown fact config.tpp, did you mean config.tp?"),
        ("config.tp: 16", "config.tp: wide", "should be int"),
        ("config.tp: 16", "config.tp: true", "should be int"),
        ("cost: 10", "cost: 0", "cost must be a number above 0"),
        ("cost: 10", "cost: .inf", "cost must be a number above 0"),
        ("cost: 10", "asks_when: config.tp\n  cost: 10", "a condition is needed"),
        ("cost: 10", "asks_wen: config.tp\n  cost: 10", "did you mean asks_when?"),
        ("    yes:", "    dont_know:", "leave it out"),
        ("    yes:", "    'Yes, often':", "small letters"),
        ("share: 3", "share: -1", "share must be a number above 0"),
        ("is_it_wide:", "is-it wide:", "small letters"),
    ],
)
def test_a_mistake_leaves_the_question_out_and_says_what_would_be_right(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    found = loaded(tmp_path, QUESTION.replace(old, new))
    assert found.base.questions == {} and found.base.rules
    assert [complaint in str(problem) for problem in found.problems] == [True]


def test_an_id_is_used_once(tmp_path: Path) -> None:
    found = loaded(tmp_path, QUESTION, QUESTION)
    assert "question is_it_wide exists already: rules/questions/q0.yaml" in str(found.problems[0])


def test_a_fact_that_nothing_uses_is_not_worth_a_question(tmp_path: Path) -> None:
    useless = QUESTION.replace("config.tp: 16", "job.idle: 16")
    faults = [str(fault) for fault in lint(loaded(tmp_path, useless))]
    assert any("gives job.idle, which no signal and no derivation uses" in fault for fault in faults)
    assert not any("gives config.tp" in fault for fault in faults)


def test_the_shipped_questions_are_in_order_and_what_people_say_counts_once_a_rule() -> None:
    found = read_rulebase()
    assert len(found.base.questions) >= 20
    assert not [fault for fault in lint(found) if "question" in str(fault)]
    told = [s for rule in found.base.rules.values() for s in rule.signals.values() if "told." in s.when]
    assert told and {signal.group for signal in told} == {"answer"}
