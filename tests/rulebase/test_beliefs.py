"""Beliefs: every number is recomputed, every mistake has a place, and every statement of the checked list is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.rulebase.belief import UNITS, Belief
from doctor.rulebase.belief_page import belief_text, beliefs_page
from doctor.rulebase.beliefs import agrees, read_beliefs, value_of
from doctor.rulebase.load import read_rulebase

SHIPPED = read_beliefs(rules=read_rulebase().base.rules)
BELIEFS = list(SHIPPED.all.values())
WRONG, RIGHT = 29, 16
"""Statements of the list that was checked: found wrong, found right."""

GOOD = """
one-thing:
  belief: {en: people say, zh: 人们说}
  verdict: wrong
  truth: {en: it is not so, zh: 并非如此}
  formulas: [{what: {en: idle, zh: 空闲}, is: (p - 1) / (m + p - 1), unit: "%", at: [{p: 4, m: 8, gives: 27.3}]}]
  sources: [{title: paper, url: "https://example.org/p", basis: read}]
  rules: [PRF005]
  claims: [W6]
"""


def folder_with(folder: Path, text: str) -> Path:
    (folder / "beliefs").mkdir()
    (folder / "beliefs" / "mine.yaml").write_text(text, encoding="utf-8")
    return folder


def problems(folder: Path, text: str) -> list[str]:
    found = read_beliefs([folder_with(folder, text)], {"PRF005", "PRF006"}).problems
    return [str(problem) for problem in found if problem.path.endswith("mine.yaml")]


def test_the_shipped_beliefs_have_no_faults() -> None:
    assert [str(problem) for problem in SHIPPED.problems] == []


@pytest.mark.parametrize("belief", BELIEFS, ids=lambda belief: belief.id)
def test_every_number_follows_from_its_formula(belief: Belief) -> None:
    for formula in belief.formulas:
        for example in formula.examples:
            value = value_of(formula.expression, example.inputs)
            assert value is not None
            assert agrees(example.gives, value / UNITS[formula.unit]), (formula.expression, example)


@pytest.mark.parametrize("belief", BELIEFS, ids=lambda belief: belief.id)
def test_every_belief_has_both_languages_numbers_and_sources(belief: Belief) -> None:
    texts = [belief.belief, belief.truth, *(formula.what for formula in belief.formulas)]
    assert all(text.en and text.zh for text in texts)
    assert belief.formulas and belief.sources and belief.verdict


def test_every_statement_of_the_checked_list_is_answered() -> None:
    answered = [claim for belief in BELIEFS for claim in belief.claims]
    listed = [*(f"W{n}" for n in range(1, WRONG + 1)), *(f"R{n}" for n in range(1, RIGHT + 1))]
    assert sorted(answered) == sorted(listed)


def test_what_was_found_wrong_is_not_called_right() -> None:
    for belief in BELIEFS:
        if any(claim.startswith("W") for claim in belief.claims):
            assert belief.verdict == "wrong"


@pytest.mark.parametrize(
    ("expression", "inputs", "value"),
    [
        ("(p - 1) / (m + p - 1)", {"p": 4, "m": 8}, 3 / 11),
        ("min(m, p - i)", {"m": 64, "p": 4, "i": 0}, 4),
        ("1 / n", {"n": 0}, None),
        ("n ** n", {"n": 10**6}, None),
    ],
)
def test_a_formula_has_a_value_or_none(expression: str, inputs: dict[str, float], value: float | None) -> None:
    assert value_of(expression, inputs) == value


@pytest.mark.parametrize(
    ("stated", "computed", "same"),
    [
        (27.3, 27.2727, True),
        (27.2, 27.2727, False),
        (1120, 1120.4, True),
        (1120, 1121.0, False),
        (0.3, float("inf"), False),
    ],
)
def test_as_many_digits_must_agree_as_are_written(stated: float, computed: float, same: bool) -> None:
    assert agrees(stated, computed) is same


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("gives: 27.3", "gives: 28.6", ":6:104: (p - 1) / (m + p - 1) gives 27.2727 %, not 28.6"),
        ("verdict: wrong", "verdict: wrnog", ":4:12: verdict is 'wrnog', did you mean wrong?"),
        ("rules: [PRF005]", "rules: [PRF055]", "unknown rule PRF055, did you mean PRF005?"),
        ("(m + p - 1)", "(q + p - 1)", "unknown fact or field q"),
        ("(m + p - 1)", "__import__('os')", "unknown function __import__"),
        ("m: 8, ", "", "m must be a number, it is None"),
        ("m: 8, ", "m: 8, d: 2, ", "unknown key d"),
        (", at: [{p: 4, m: 8, gives: 27.3}]", "", "a formula needs a worked example"),
        (", zh: 并非如此", "", "truth needs a text in zh"),
        ("sources:", "source:", "unknown key source, did you mean sources?"),
        ('"https://example.org/p"', "paper.pdf", "'paper.pdf' is no URL"),
        ("basis: read", "basis: hearsay", "basis is 'hearsay'"),
        ("claims: [W6]", "claims: [X6]", "claim 'X6' must be W or R and a number"),
        ("one-thing:", "One Thing:", "'One Thing' is no id"),
        ("one-thing:", "ring-log-tree-linear:", "belief ring-log-tree-linear exists already, in collectives.yaml"),
        ("one-thing:", "one-thing: [", "not valid YAML"),
    ],
)
def test_a_mistake_names_its_place_and_what_would_be_right(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    (problem,) = problems(tmp_path, GOOD.replace(old, new, 1))
    assert problem.startswith(f"{tmp_path.name}/beliefs/mine.yaml:")
    assert told in problem


def test_a_bad_belief_does_not_take_the_good_ones_with_it(tmp_path: Path) -> None:
    second = GOOD.replace("one-thing:", "other-thing:").replace("27.3", "99")
    found = read_beliefs([folder_with(tmp_path, GOOD + second)])
    assert "one-thing" in found.all and "other-thing" not in found.all and len(found.problems) == 1


def test_a_symbol_needs_a_name_that_a_formula_can_hold(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, GOOD)
    (folder / "beliefs" / "symbols.yaml").write_text("2p: {meaning: {en: twice, zh: 两倍}}\n", encoding="utf-8")
    assert "symbol '2p' must be a name" in str(read_beliefs([folder]).problems[0])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_holds_every_belief_with_its_numbers_and_links(lang: str) -> None:
    page = beliefs_page(SHIPPED, lang)
    for belief in BELIEFS:
        assert f"(#{belief.id})" in page and f"## {belief.id}\n" in page
        assert belief.truth.get(lang) in page
        assert all(f"[{rule}]({rule}.md)" in page for rule in belief.rules)
    assert "p = 4, v = 1, m = 8: **27.3 %**" in page


def test_one_belief_reads_as_on_the_page_and_explains_its_symbols() -> None:
    text = belief_text(SHIPPED.all["expert-parallelism-multiplies"], SHIPPED)
    assert "t = 4, c = 1, p = 2, d = 2: **16 GPUs**" in text
    assert "| `t` | tensor-parallel size | 1 |" in text and "`coef`" not in text
