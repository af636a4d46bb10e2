"""What people believe about distributed training, and what is true: rules/beliefs/*.yaml.

One file an area, a mapping of beliefs by id; symbols.yaml says what the letters of their formulas mean. A formula is
written in the language of conditions, and each worked example states what it gives: reading a file recomputes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from doctor.rulebase.belief import BASES, UNITS, VERDICTS, Belief, Beliefs, BeliefSource, Example, Formula, Symbol
from doctor.rulebase.document import Keys, MisplacedError, Node, load_yaml, locate
from doctor.rulebase.errors import RuleError, suggestion
from doctor.rulebase.expression import Names, check, evaluate, fact_names
from doctor.rulebase.load import rules_folder
from doctor.rulebase.model import Text

FOLDER = "beliefs"
SYMBOLS = "symbols.yaml"
KEYS = ("belief", "verdict", "truth", "formulas", "sources", "rules", "claims")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CLAIM = re.compile(r"[WR]\d+")
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def read_beliefs(folders: Sequence[Path] = (), rules: Iterable[str] | None = None) -> Beliefs:
    """The beliefs of the shipped rules and of `folders`; with `rules`, related rules must be among these ids.

    A belief with a mistake is left out and the mistake kept with its file and line; the others are good.
    """
    files = [
        (path, f"{folder.name}/{FOLDER}/{path.name}")
        for folder in (rules_folder(), *folders)
        for path in sorted((folder / FOLDER).glob("*.yaml"), key=lambda path: (path.name != SYMBOLS, path.name))
    ]
    known = None if rules is None else set(rules)
    symbols: dict[str, Symbol] = {}
    found: dict[str, Belief] = {}
    problems: list[RuleError] = []
    for path, shown in files:
        try:
            document = Node(load_yaml(path, shown) or {})
            if path.name == SYMBOLS:
                symbols |= {name: _symbol(document, name) for name in document.data}
                continue
        except (MisplacedError, RuleError) as error:
            problems.append(_placed(error, path, shown))
            continue
        for name in document.data:
            try:
                belief = _belief(document, str(name), path.stem, symbols, known)
                if belief.id in found:
                    raise MisplacedError(f"belief {name} exists already, in {found[belief.id].area}.yaml", (name,))
                found[belief.id] = belief
            except MisplacedError as error:
                problems.append(_placed(error, path, shown))
    return Beliefs(found, symbols, tuple(problems))


def value_of(expression: str, inputs: Mapping[str, float]) -> float | None:
    """What `expression` gives in base units; None where it has no value, as in a division by zero."""
    value = evaluate(expression, _Inputs(inputs)).value
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def agrees(stated: float, computed: float) -> bool:
    """Is `stated` what `computed` rounds to at the digits that are written?"""
    exponent = Decimal(str(stated)).as_tuple().exponent
    digits = -exponent if isinstance(exponent, int) else 0
    return abs(stated - computed) <= 0.5 * 10.0**-digits * (1 + 1e-9)


def _symbol(document: Node, name: object) -> Symbol:
    if not isinstance(name, str) or not _SYMBOL.fullmatch(name):
        raise MisplacedError(f"symbol {name!r} must be a name of letters and digits", (name,))  # type: ignore[arg-type]
    node = document.node(name, ("unit", "meaning"))
    return Symbol(name, node.string("unit", "1"), _both(node, "meaning"))


def _belief(document: Node, name: str, area: str, symbols: Mapping[str, Symbol], rules: set[str] | None) -> Belief:
    if not _ID.fullmatch(name):
        raise MisplacedError(f"{name!r} is no id: words of small letters and digits, joined by -", (name,))
    node = document.node(name, KEYS)
    sources = tuple(map(_source, node.items("sources", ("title", "url", "basis"))))
    if not sources:
        raise MisplacedError(f"{name} has no sources: say where the truth is documented", node.keys)
    for index, rule in enumerate(related := node.strings("rules")):
        if rules is not None and rule not in rules:
            raise MisplacedError(f"unknown rule {rule}{suggestion(rule, rules)}", (*node.keys, "rules", index))
    for claim in (claims := node.strings("claims")):
        if not _CLAIM.fullmatch(claim):
            raise node.fail("claims", f"claim {claim!r} must be W or R and a number")
    return Belief(
        id=name,
        area=area,
        belief=_both(node, "belief"),
        verdict=node.choice("verdict", VERDICTS),
        truth=_both(node, "truth"),
        formulas=tuple(_formula(item, symbols) for item in node.items("formulas", ("what", "is", "unit", "at"))),
        sources=sources,
        rules=related,
        claims=claims,
    )


def _both(node: Node, key: str) -> Text:
    text = node.need_text(key)
    if not (text.en and text.zh):
        raise node.fail(key, f"{key} needs a text in {'zh' if text.en else 'en'}")
    return text


def _source(node: Node) -> BeliefSource:
    url = node.string("url")
    if not url.startswith(("https://", "http://")):
        raise node.fail("url", f"{url!r} is no URL")
    return BeliefSource(node.string("title"), url, node.choice("basis", BASES))


def _formula(node: Node, symbols: Mapping[str, Symbol]) -> Formula:
    expression, unit = node.string("is"), node.choice("unit", UNITS, "1")
    try:
        check(expression, Names({}, {}, dict.fromkeys(symbols, "float")))
        needed = fact_names(expression)
    except RuleError as error:
        raise node.fail("is", error.message, error.column) from None
    examples = tuple(_example(row, expression, unit, needed) for row in node.items("at", (*needed, "gives")))
    if not examples:
        raise MisplacedError("a formula needs a worked example: at: [{..., gives: ...}]", node.keys)
    return Formula(_both(node, "what"), expression, unit, examples)


def _example(row: Node, expression: str, unit: str, needed: Sequence[str]) -> Example:
    numbers: dict[str, float] = {}
    for name in (*needed, "gives"):
        value = row.data.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MisplacedError(f"{name} must be a number, it is {value!r}", row.keys)
        numbers[name] = value
    stated = numbers.pop("gives")
    computed = value_of(expression, numbers)
    if computed is None or not agrees(stated, computed / UNITS[unit]):
        told = "no value" if computed is None else f"{computed / UNITS[unit]:.6g}"
        raise row.fail("gives", f"{expression} gives {told} {unit}, not {stated}")
    return Example(numbers, stated)


def _placed(error: MisplacedError | RuleError, path: Path, shown: str) -> RuleError:
    if isinstance(error, RuleError):
        return error
    keys: Keys = error.keys
    return RuleError(error.message, shown, *locate(path, keys))


class _Inputs:
    """The numbers of an example as what an expression looks its names up in."""

    entity = "job"

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def fact(self, name: str) -> None:
        return None

    def field(self, name: str) -> Any | None:
        return self.values.get(name)

    def inner(self, kind: str) -> Iterator[Any]:
        return iter(())

    def event_count(self, name: str) -> None:
        return None

    def event_ranks(self, name: str) -> None:
        return None

    def distinct(self, name: str) -> None:
        return None
