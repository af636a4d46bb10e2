"""Types and dimensions of an expression, checked when a rule is read rather than at three in the morning."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from doctor.facts.model import FactSpec, fact_spec
from doctor.facts.units import CONSTANTS, PLAIN, Dimension, combine, dimension, name_of
from doctor.rulebase.errors import RuleError, suggestion
from doctor.rulebase.expression.parse import EVENT_FUNCTIONS, dotted_name, parse, quantifies

BUILTIN_FIELDS: Mapping[str, str] = {
    "rank": "int",
    "local_rank": "int",
    "step": "int",
    "line": "int",
    "order": "int",
    "host": "str",
    "phase": "str",
    "run": "str",
    "path": "str",
    "text": "str",
    "traceback": "str",
    "time": "seconds",
}
FIELD_TYPES: Mapping[str, tuple[str, str]] = {"bytes": ("number", "B"), "seconds": ("number", "s")}


@dataclass(frozen=True, slots=True)
class Kind:
    """What an expression gives: number, str, bool, list or version; and for numbers the dimension.

    `zero` marks a literal 0, which compares with every dimension.
    """

    type: str
    dim: Dimension = PLAIN
    zero: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """What an expression may name: the catalogue's facts, the events, and in `where` the fields of one event."""

    catalogue: Mapping[str, FactSpec]
    events: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, str] | None = None

    def kind(self, name: str) -> Kind | None:
        if self.fields is not None:
            declared = self.fields.get(name) or BUILTIN_FIELDS.get(name)
            if declared:
                return _kind(*FIELD_TYPES.get(declared, (declared, "1")))
        spec = fact_spec(self.catalogue, name)
        return _kind(spec.type, spec.unit) if spec else None

    def known(self) -> list[str]:
        return [*(self.fields or ()), *(BUILTIN_FIELDS if self.fields is not None else ()), *self.catalogue]


def _kind(type_name: str, unit: str = "1") -> Kind:
    if type_name in ("int", "float", "number", "bytes_binary"):
        return Kind("number", dimension(unit or "1"))
    return Kind(type_name)


def check(text: str, names: Names) -> Kind:
    """The kind of `text`; raises RuleError for an unknown name, a wrong type or dimensions that do not match."""
    return _check(parse(text), names)


def _fail(node: ast.expr, message: str) -> RuleError:
    return RuleError(message, column=getattr(node, "col_offset", -1) + 1)


def _check(node: ast.expr, names: Names) -> Kind:
    match node:
        case ast.Constant(value=bool()):
            return Kind("bool")
        case ast.Constant(value=str()):
            return Kind("str")
        case ast.Constant():
            return Kind("number", zero=node.value == 0)
        case ast.List() | ast.Tuple():
            for element in node.elts:
                _check(element, names)
            return Kind("list")
        case ast.BoolOp():
            for value in node.values:
                _expect(value, names, "bool")
            return Kind("bool")
        case ast.UnaryOp(op=ast.Not()):
            _expect(node.operand, names, "bool")
            return Kind("bool")
        case ast.UnaryOp():
            return _expect(node.operand, names, "number")
        case ast.BinOp():
            return _binary(node, names)
        case ast.Compare():
            return _compare(node, names)
        case ast.Call():
            return _call(node, names)
    return _name(node, names)


def _name(node: ast.expr, names: Names) -> Kind:
    name = dotted_name(node)
    if name is None:
        raise _fail(node, f"{ast.unparse(node)} is not a fact name")
    if name in CONSTANTS:
        return Kind("number", dimension(CONSTANTS[name][1]))
    if name in ("true", "false"):
        return Kind("bool")
    kind = names.kind(name)
    if kind is None:
        what = "fact or field" if names.fields is not None else "fact"
        raise _fail(node, f"unknown {what} {name}{suggestion(name, names.known())}")
    return kind


def _expect(node: ast.expr, names: Names, type_name: str) -> Kind:
    kind = _check(node, names)
    if kind.type != type_name:
        raise _fail(node, f"{ast.unparse(node)} is a {kind.type}, a {type_name} is needed here")
    return kind


def _binary(node: ast.BinOp, names: Names) -> Kind:
    left, right = _check(node.left, names), _check(node.right, names)
    if left.type == right.type == "str" and isinstance(node.op, ast.Add):
        return Kind("str")
    for kind, side in ((left, node.left), (right, node.right)):
        if kind.type != "number":
            raise _fail(side, f"{ast.unparse(side)} is a {kind.type}, arithmetic needs numbers")
    if isinstance(node.op, ast.Mult):
        return Kind("number", combine(left.dim, right.dim, 1))
    if isinstance(node.op, ast.Div | ast.FloorDiv):
        return Kind("number", combine(left.dim, right.dim, -1))
    if isinstance(node.op, ast.Pow):
        return Kind("number", left.dim)
    _same_dimension(node, left, right)
    return Kind("number", left.dim or right.dim)


def _same_dimension(node: ast.expr, left: Kind, right: Kind) -> None:
    if left.dim != right.dim and not (left.zero or right.zero):
        units = f"{name_of(left.dim)} against {name_of(right.dim)}"
        raise _fail(node, f"units differ in {ast.unparse(node)}: {units}; write constants as 20*GiB or 2*minute")


def _compare(node: ast.Compare, names: Names) -> Kind:
    left_node, left = node.left, _check(node.left, names)
    for operator, right_node in zip(node.ops, node.comparators, strict=True):
        right = _check(right_node, names)
        if isinstance(operator, ast.In | ast.NotIn):
            if right.type not in ("list", "str"):
                raise _fail(right_node, f"{ast.unparse(right_node)} is a {right.type}, `in` needs a list or a str")
        else:
            if left.type != right.type:
                wanted = f"{ast.unparse(left_node)} ({left.type}) with {ast.unparse(right_node)} ({right.type})"
                raise _fail(node, f"cannot compare {wanted}")
            _same_dimension(node, left, right)
        left_node, left = right_node, right
    return Kind("bool")


_SIGNATURES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "contains": (("str|list", "str"), "bool"),
    "matches": (("str", "str"), "bool"),
    "startswith": (("str", "str"), "bool"),
    "lower": (("str",), "str"),
    "version": (("str",), "version"),
    "number": (("str",), "number"),
    "len": (("str|list",), "number"),
}


def _call(node: ast.Call, names: Names) -> Kind:
    function = dotted_name(node.func)
    if function is None:
        raise _fail(node, f"{ast.unparse(node.func)} is not a function of conditions")
    if node.keywords:
        raise _fail(node, f"{function}() takes no keyword arguments")
    if quantifies(node):
        return _quantifier(node, function, names)
    if function in EVENT_FUNCTIONS and len(node.args) == 1:
        return _event_function(node, function, names)
    if function in ("known", "fact") and len(node.args) == 1:
        inner = names.kind(str(node.args[0].value)) if isinstance(node.args[0], ast.Constant) else None
        kind = inner or _check(node.args[0], names)
        return Kind("bool") if function == "known" else kind
    if function in ("abs", "min", "max", "round"):
        kinds = [_expect(argument, names, "number") for argument in node.args]
        for kind in kinds[1:]:
            _same_dimension(node, kinds[0], kind)
        return Kind("number", kinds[0].dim if kinds else PLAIN)
    if function not in _SIGNATURES:
        known = [*_SIGNATURES, *EVENT_FUNCTIONS, "known", "fact", "abs", "min", "max", "any", "all"]
        raise _fail(node, f"unknown function {function}{suggestion(function, known)}")
    wanted, gives = _SIGNATURES[function]
    if len(wanted) != len(node.args):
        raise _fail(node, f"{function}() takes {len(wanted)} arguments, {len(node.args)} are given")
    for argument, types in zip(node.args, wanted, strict=True):
        if (kind := _check(argument, names)).type not in types.split("|"):
            raise _fail(argument, f"{function}() needs a {types} here, {ast.unparse(argument)} is a {kind.type}")
    return Kind(gives)


def _quantifier(node: ast.Call, function: str, names: Names) -> Kind:
    inner = _check(node.args[1], names)
    if function in ("any", "all", "count"):
        if inner.type != "bool":
            raise _fail(node.args[1], f"{function}() over entities needs a condition")
        return Kind("number" if function == "count" else "bool")
    return inner


def _event_function(node: ast.Call, function: str, names: Names) -> Kind:
    argument = node.args[0]
    if function == "distinct":
        _check(argument, names)
        return Kind("number")
    if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
        raise _fail(argument, f"{function}() takes the name of an event in quotes")
    if names.events and argument.value not in names.events:
        raise _fail(argument, f"unknown event {argument.value}{suggestion(argument.value, names.events)}")
    return Kind("bool" if function == "seen" else "number")
