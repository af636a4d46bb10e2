"""Evaluates a condition over what is known; None stands for unknown all the way up."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from doctor.facts.model import Fact
from doctor.facts.units import CONSTANTS
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
    value = _Evaluator(trace).value(parse(text), lookup)
    return Evaluation(value, tuple(trace.used.values()), tuple(trace.missing), tuple(trace.places))


@dataclass(slots=True)
class _Trace:
    used: dict[tuple[str, str], Fact]
    missing: dict[str, None]
    places: dict[str, None]


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
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


class _Evaluator:
    def __init__(self, trace: _Trace) -> None:
        self.trace = trace

    def value(self, node: ast.expr, lookup: Lookup) -> Any | None:
        match node:
            case ast.Constant():
                return node.value
            case ast.List() | ast.Tuple():
                return tuple(self.value(element, lookup) for element in node.elts)
            case ast.BoolOp():
                return self._logic(node, lookup)
            case ast.UnaryOp():
                return self._unary(node, lookup)
            case ast.BinOp():
                return self._arithmetic(node, lookup)
            case ast.Compare():
                return self._compare(node, lookup)
            case ast.Call():
                return self._call(node, lookup)
        return self._name(dotted_name(node) or "", lookup)

    def _name(self, name: str, lookup: Lookup) -> Any | None:
        if name in CONSTANTS:
            return CONSTANTS[name][0]
        if name in ("true", "false"):
            return name == "true"
        field = lookup.field(name)
        if field is not None:
            return field
        fact = lookup.fact(name)
        if fact is None:
            self.trace.missing[name] = None
            return None
        self.trace.used[(fact.name, fact.entity)] = fact
        return fact.value

    def _logic(self, node: ast.BoolOp, lookup: Lookup) -> bool | None:
        """Kleene: a deciding value wins over unknown, whatever the order."""
        decides = isinstance(node.op, ast.Or)
        unknown = False
        for operand in node.values:
            value = self.value(operand, lookup)
            if value is None:
                unknown = True
            elif bool(value) is decides:
                return decides
        return None if unknown else not decides

    def _unary(self, node: ast.UnaryOp, lookup: Lookup) -> Any | None:
        """What holds somewhere inside a `not` is no place where the whole holds."""
        before = dict(self.trace.places)
        inner = self.value(node.operand, lookup)
        self.trace.places = before
        return None if inner is None else (not inner if isinstance(node.op, ast.Not) else -inner)

    def _arithmetic(self, node: ast.BinOp, lookup: Lookup) -> Any | None:
        left, right = self.value(node.left, lookup), self.value(node.right, lookup)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow) and abs(right) > MAX_POWER:
            return None
        try:
            return _ARITHMETIC[type(node.op)](left, right)
        except (ZeroDivisionError, OverflowError, TypeError):
            return None

    def _compare(self, node: ast.Compare, lookup: Lookup) -> bool | None:
        result: bool | None = True
        left = self.value(node.left, lookup)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node, lookup)
            if left is None or right is None:
                result = None
            else:
                try:
                    holds = _COMPARISON[type(op)](left, right)
                except TypeError:
                    return None
                if not holds:
                    return False
            left = right
        return result

    def _call(self, node: ast.Call, lookup: Lookup) -> Any | None:
        function = dotted_name(node.func) or ""
        if quantifies(node):
            kind = node.args[0].id if isinstance(node.args[0], ast.Name) else ""
            if function == "any":
                inside = list(lookup.inner(kind))
                values = self._each(node.args[1], inside)
                self.trace.places |= {one.entity: None for one, value in zip(inside, values, strict=True) if value}
                return _any(values)
            return _QUANTIFIERS[function]([self.value(node.args[1], inner) for inner in lookup.inner(kind)])
        if function in ("seen", "count", "ranks") and isinstance(node.args[0], ast.Constant):
            name = str(node.args[0].value)
            count = lookup.event_ranks(name) if function == "ranks" else lookup.event_count(name)
            if count is None:
                self.trace.missing[f"event:{name}"] = None
            return None if count is None else (count > 0 if function == "seen" else count)
        if function == "distinct":
            return lookup.distinct(dotted_name(node.args[0]) or "")
        if function in ("known", "fact"):
            first = node.args[0]
            name = str(first.value) if isinstance(first, ast.Constant) else dotted_name(first) or ""
            if function == "fact":
                return self._name(name, lookup)
            return lookup.field(name) is not None or lookup.fact(name) is not None
        arguments = [self.value(argument, lookup) for argument in node.args]
        if any(argument is None for argument in arguments):
            return None
        return _FUNCTIONS[function](*arguments)

    def _each(self, node: ast.expr, lookups: Iterable[Lookup]) -> list[Any | None]:
        """The value for each; where some hold, only what these were computed from is used: it is what proves it."""
        before, proof, rest = self.trace.used, dict[tuple[str, str], Fact](), dict[tuple[str, str], Fact]()
        values: list[Any | None] = []
        for lookup in lookups:
            self.trace.used = {}
            values.append(self.value(node, lookup))
            (proof if values[-1] else rest).update(self.trace.used)
        self.trace.used = before | (proof or rest)
        return values


def version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version such as `2.21.5+cuda12.4`: (2, 21, 5)."""
    found = re.match(r"\D*(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> Callable[[str], bool]:
    """A search for `pattern`, in linear time where re2 takes it: neither rule nor text is trusted."""
    try:
        import re2

        options = re2.Options()
        options.log_errors = False
        linear = re2.compile(pattern, options)
    except Exception:  # re2 is absent, or raises its own kind of error for what it does not take
        backtracking = re.compile(pattern)
        return lambda text: backtracking.search(text) is not None
    return lambda text: linear.search(text.encode("utf-8", "replace").decode()) is not None


def _contains(haystack: str | tuple[str, ...], needle: str) -> bool:
    return needle in haystack


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "contains": _contains,
    "matches": lambda text, pattern: _regex(pattern)(text),
    "startswith": lambda text, prefix: text.startswith(prefix),
    "lower": lambda text: text.lower(),
    "version": version,
    "number": _number,
    "len": len,
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
}


def _any(values: list[Any | None]) -> bool | None:
    return True if any(values) else None if None in values else False


def _all(values: list[Any | None]) -> bool | None:
    if any(value is not None and not value for value in values):
        return False
    return None if None in values or not values else True


def _extreme(pick: Callable[[list[Any]], Any]) -> Callable[[list[Any | None]], Any | None]:
    def choose(values: list[Any | None]) -> Any | None:
        known = [value for value in values if value is not None]
        return pick(known) if known else None

    return choose


_QUANTIFIERS: Mapping[str, Callable[[list[Any | None]], Any | None]] = {
    "any": _any,
    "all": _all,
    "count": lambda values: sum(1 for value in values if value),
    "max": _extreme(max),
    "min": _extreme(min),
    "sum": _extreme(sum),
}
