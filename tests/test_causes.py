"""Every cause of the published list can be named, shown by a test, told from its neighbour, and cured."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from doctor.rulebase import read_rulebase
from doctor.rulebase.model import Rule, Text
from doctor.rulebase.testing import Expectation, rule_tests

CAUSES = Path(__file__).parent.parent / "rules" / "causes.yaml"


def published() -> list[str]:
    """The ids above the comment that ends the published list."""
    text, *_ = CAUSES.read_text(encoding="utf-8").split("\n# beyond the published list")
    return list(YAML(typ="safe").load(text))


@pytest.fixture(scope="module")
def complaints() -> dict[str, dict[str, list[str]]]:
    """By cause and stable rule: what the rule would still need to stand for the cause by itself."""
    base = read_rulebase().base
    expected: dict[str, list[Expectation]] = defaultdict(list)
    for test in rule_tests(base):
        expected[test.rule].append(test.expect)
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for rule in base.rules.values():
        if rule.status == "stable":
            found[rule.cause][rule.id] = lacks(rule, expected[rule.id])
    return found


def in_both(text: Text | None) -> bool:
    return text is not None and bool(text.get("en").strip()) and bool(text.get("zh").strip())


def test_the_list_is_the_published_one() -> None:
    assert len(published()) == len(set(published())) >= 130


@pytest.mark.parametrize("cause", published())
def test_a_cause_has_a_complete_rule(cause: str, complaints: dict[str, dict[str, list[str]]]) -> None:
    assert [] in complaints[cause].values(), complaints[cause] or "no stable rule"


def lacks(rule: Rule, expected: list[Expectation]) -> list[str]:
    cures = [remedy for remedy in rule.remedies if not remedy.avoid]
    texts = [rule.title, rule.because, *(remedy.title for remedy in rule.remedies)]
    needs = {
        "a positive test": any(rule.id == e.finding or rule.cause == e.cause for e in expected),
        "a near miss": any(is_near_miss(rule, e) for e in expected),
        "a remedy with a change": any(remedy.change for remedy in cures),
        "a reference": bool(rule.references),
        "texts in both languages": all(map(in_both, texts)),
    }
    return [name for name, there in needs.items() if not there]


def is_near_miss(rule: Rule, expect: Expectation) -> bool:
    """Does the test demand that this rule stays silent or yields to another one?"""
    return expect.finding == "none" or (expect.roots is not None and rule.id not in expect.roots)
