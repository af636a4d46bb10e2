"""Evaluates a condition over what is known; None stands for unknown all the way up."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from doctor.facts.model import Fact
from doctor.facts.units import CONSTANTS
from doctor.rulebase.expression.functions import FUNCTIONS, QUANTIFIERS
from doctor.rulebase.expression.parse import dotted_name, parse, quantifies


class Lookup(Protocol):
    """Where an evaluation gets its values. Every method answers None for what is not known."""

    @property
    def entity(self) -> str: ...

    def fact(self, name: str) -> Fact | None: ...

    def field(self, name: str) -> Any | None: ...

    def inner(self, kind: str) -> Iterable[Lookup]: ...

    def event_count(self, name: str) -> int | None: ...

    def event_ranks(self, name: str) -> int | None: ...

    def distinct(self, name: str) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A value (None when unknown), the facts it was computed from, and the names that were missing.

    `places` are the entities for which an `any` held that the value rests on.
    """

    value: Any | None
    used: tuple[Fact, ...]
    missing: tuple[str, ...]
    places: tuple[str, ...] = ()


def evaluate(text: str, lookup: Lookup) -> Evaluation:
    """The value of `text`, which `check` has passed, over `lookup`."""
    trace = _Trace({}, {}, {})
    value = _compiled(text)(lookup, trace)
    return Evaluation(value, tuple(trace.used.values()), tuple(trace.missing), tuple(trace.places))


@dataclass(slots=True)
class _Trace:
    used: dict[tuple[str, str], Fact]
    missing: dict[str, None]
    places: dict[str, None]


_Term: TypeAlias = Callable[[Lookup, _Trace], Any]
"""What a part of an expression becomes, since it is evaluated for many entities and events."""

_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda left, right: left**right if abs(right) <= MAX_POWER else None,
}
_COMPARISON: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
MAX_POWER = 64


@lru_cache(maxsize=4096)
def _compiled(text: str) -> _Term:
    return _term(parse(text))


def _term(node: ast.expr) -> _Term:
    match node:
        case ast.Constant():
            return _constant(node.value)
        case ast.List() | ast.Tuple():
            elements = _terms(node.elts)
            return lambda lookup, trace: tuple([element(lookup, trace) for element in elements])
        case ast.BoolOp():
            return _logic(isinstance(node.op, ast.Or), _terms(node.values))
        case ast.UnaryOp():
            return _unary(operator.not_ if isinstance(node.op, ast.Not) else operator.neg, _term(node.operand))
        case ast.BinOp():
            return _arithmetic(_ARITHMETIC[type(node.op)], _term(node.left), _term(node.right))
        case ast.Compare():
            return _compare(_term(node.left), [_COMPARISON[type(op)] for op in node.ops], _terms(node.comparators))
        case ast.Call():
            return _call(node)
    return _name(dotted_name(node) or "")


def _terms(nodes: Iterable[ast.expr]) -> list[_Term]:
    return [_term(node) for node in nodes]


def _constant(value: object) -> _Term:
    return lambda lookup, trace: value


def _name(name: str) -> _Term:
    if name in CONSTANTS:
        return _constant(CONSTANTS[name][0])
    if name in ("true", "false"):
        return _constant(name == "true")
    return _told(name)


def _is_known(name: str) -> _Term:
    """Rests on the fact that is known; that it is not known is no gap."""

    def value(lookup: Lookup, trace: _Trace) -> bool:
        if lookup.field(name) is not None:
            return True
        if (fact := lookup.fact(name)) is not None:
            trace.used[(fact.name, fact.entity)] = fact
        return fact is not None

    return value


def _told(name: str) -> _Term:
    """A field of the event, else a fact."""

    def value(lookup: Lookup, trace: _Trace) -> Any | None:
        field = lookup.field(name)
        if field is not None:
            return field
        fact = lookup.fact(name)
        if fact is None:
            trace.missing[name] = None
            return None
        trace.used[(fact.name, fact.entity)] = fact
        return fact.value

    return value


def _logic(decides: bool, operands: Sequence[_Term]) -> _Term:
    """Kleene: a deciding value (true for `or`) wins over unknown, whatever the order."""

    def value(lookup: Lookup, trace: _Trace) -> bool | None:
        unknown = False
        for operand in operands:
            one = operand(lookup, trace)
            if one is None:
                unknown = True
            elif bool(one) is decides:
                return decides
        return None if unknown else not decides

    return value


def _unary(apply: Callable[[Any], Any], operand: _Term) -> _Term:
    """What holds somewhere inside a `not` is no place where the whole holds."""

    def value(lookup: Lookup, trace: _Trace) -> Any | None:
        before = trace.places.copy()
        inner = operand(lookup, trace)
        trace.places = before
        return None if inner is None else apply(inner)

    return value


def _arithmetic(apply: Callable[[Any, Any], Any], left: _Term, right: _Term) -> _Term:
    def value(lookup: Lookup, trace: _Trace) -> Any | None:
        first, second = left(lookup, trace), right(lookup, trace)
        if first is None or second is None:
            return None
        try:
            return apply(first, second)
        except (ZeroDivisionError, OverflowError, TypeError):
            return None

    return value


def _compare(first: _Term, operators: Sequence[Callable[[Any, Any], bool]], others: Sequence[_Term]) -> _Term:
    links = tuple(zip(operators, others, strict=True))

    def value(lookup: Lookup, trace: _Trace) -> bool | None:
        result: bool | None = True
        left = first(lookup, trace)
        for holds, other in links:
            right = other(lookup, trace)
            if left is None or right is None:
                result = None
            else:
                try:
                    if not holds(left, right):
                        return False
                except TypeError:
                    return None
            left = right
        return result

    return value


def _call(node: ast.Call) -> _Term:
    function = dotted_name(node.func) or ""
    if quantifies(node):
        kind, inside = dotted_name(node.args[0]) or "", _term(node.args[1])
        return _somewhere(kind, inside) if function == "any" else _over(function, kind, inside)
    if function in ("seen", "count", "ranks") and isinstance(node.args[0], ast.Constant):
        return _events(function, str(node.args[0].value))
    if function == "distinct":
        name = dotted_name(node.args[0]) or ""
        return lambda lookup, trace: lookup.distinct(name)
    if function in ("known", "fact"):
        first = node.args[0]
        name = str(first.value) if isinstance(first, ast.Constant) else dotted_name(first) or ""
        if function == "fact":
            return _name(name)
        return _is_known(name)
    return _applied(FUNCTIONS[function], _terms(node.args))


def _over(function: str, kind: str, inside: _Term) -> _Term:
    choose = QUANTIFIERS[function]
    return lambda lookup, trace: choose([inside(inner, trace) for inner in lookup.inner(kind)])


def _somewhere(kind: str, inside: _Term) -> _Term:
    """`any` over the entities of `kind`. Where some hold, only what these were computed from is used: it is what
    proves it."""
    choose = QUANTIFIERS["any"]

    def value(lookup: Lookup, trace: _Trace) -> bool | None:
        before, proof, rest = trace.used, dict[tuple[str, str], Fact](), dict[tuple[str, str], Fact]()
        values: list[Any | None] = []
        places: list[str] = []
        for inner in lookup.inner(kind):
            trace.used = {}
            one = inside(inner, trace)
            values.append(one)
            if one:
                places.append(inner.entity)
            (proof if one else rest).update(trace.used)
        trace.used = before | (proof or rest)
        trace.places.update(dict.fromkeys(places))
        holds: bool | None = choose(values)
        return holds

    return value


def _events(function: str, name: str) -> _Term:
    def value(lookup: Lookup, trace: _Trace) -> bool | int | None:
        count = lookup.event_ranks(name) if function == "ranks" else lookup.event_count(name)
        if count is None:
            trace.missing[f"event:{name}"] = None
            return None
        return count > 0 if function == "seen" else count

    return value


def _applied(function: Callable[..., Any], arguments: Sequence[_Term]) -> _Term:
    def value(lookup: Lookup, trace: _Trace) -> Any | None:
        values = [argument(lookup, trace) for argument in arguments]
        return None if None in values else function(*values)

    return value
