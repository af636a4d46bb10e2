"""Runs the tests inside the rule files, and holds the whole rule base against its lint."""

import pytest

from doctor.rulebase import read_rulebase
from doctor.rulebase.lint import lint
from doctor.rulebase.testing import RuleTest, rule_tests
from doctor.session.rule_tests import run_rule_test

LOADED = read_rulebase()


def test_the_rule_base_has_no_faults() -> None:
    assert [str(fault) for fault in lint(LOADED)] == []


@pytest.mark.parametrize("test", rule_tests(LOADED.base), ids=lambda test: test.id)
def test_rule(test: RuleTest) -> None:
    assert run_rule_test(test, LOADED.base) == []
