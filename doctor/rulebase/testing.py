"""The tests inside rule files, read and checked: what is given, and what is expected of the diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from doctor.facts.model import Fact, Source, Value
from doctor.rulebase.document import MisplacedError, Node
from doctor.rulebase.errors import RuleError
from doctor.rulebase.model import Rule, RuleBase

TEST_KEYS = ("name", "log", "files", "facts", "expect")
EXPECT_KEYS = ("finding", "cause", "label", "where", "remedy", "roots")
LABELS = ("possible", "likely", "certain")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a test expects: `finding` is a rule id that must be a root, or `none`: the rule itself must not be one.

    `label` is the least certainty, `where` entities that must be named, `remedy` one that must be offered, `roots`
    """

    finding: str = ""
    cause: str = ""
    label: str = ""
    where: tuple[str, ...] = ()
    remedy: str = ""
    roots: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RuleTest:
    """One test of a rule: files by name with their text, facts known besides, and the expectation."""

    rule: str
    path: str
    name: str
    files: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    expect: Expectation = Expectation()

    @property
    def id(self) -> str:
        return f"{self.rule}: {self.name}"


def rule_tests(base: RuleBase) -> list[RuleTest]:
    """All tests of `base`, which must have been read from its files; raises RuleError for one that is malformed."""
    return [test for rule in base.rules.values() for test in _tests(rule, base)]


def _tests(rule: Rule, base: RuleBase) -> Iterator[RuleTest]:
    for index, data in enumerate(rule.tests):
        try:
            yield _test(rule, Node(data, ("tests", index), TEST_KEYS), base)
        except MisplacedError as error:
            raise RuleError(f"{rule.id} test {index + 1}: {error.message}", rule.path) from None


def _test(rule: Rule, node: Node, base: RuleBase) -> RuleTest:
    files = {name: node.node("files").string(name) for name in node.node("files").data}
    if node.has("log"):
        files["job.log"] = node.string("log")
    expect = node.node("expect", EXPECT_KEYS)
    if not expect.data:
        raise node.fail("expect", "a test needs an expect")
    finding = expect.string("finding", "")
    if finding not in ("", "none") and finding not in base.rules:
        raise expect.fail("finding", f"expects the finding of {finding}, which is no rule")
    return RuleTest(
        rule=rule.id,
        path=rule.path,
        name=node.string("name"),
        files=files,
        facts=tuple(_fact(name, value) for name, value in node.node("facts").data.items()),
        expect=Expectation(
            finding=finding,
            cause=expect.string("cause", ""),
            label=expect.choice("label", ("", *LABELS), ""),
            where=tuple(_places(expect.data.get("where") or {})),
            remedy=expect.string("remedy", ""),
            roots=expect.strings("roots") if "roots" in expect.data else None,
        ),
    )


def _fact(name: str, value: Any) -> Fact:
    """`config.tp`, or `node:n1 node.shm_total` for a fact of another entity than the job."""
    entity, _, fact = name.rpartition(" ")
    plain: Value = tuple(value) if isinstance(value, list) else value
    return Fact(fact, plain, entity or "job", Source("test"))


def _places(where: Mapping[str, Any]) -> Iterator[str]:
    for kind, names in where.items():
        for name in names if isinstance(names, list) else [names]:
            yield f"{kind}:{name}"
