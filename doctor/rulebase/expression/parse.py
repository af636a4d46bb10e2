"""Text to syntax tree, keeping only the nodes that conditions may use."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from doctor.facts.units import CONSTANTS
from doctor.rulebase.errors import RuleError

ALLOWED = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.Call,
    ast.Name,
    ast.Attribute,
    ast.Load,
    ast.Constant,
    ast.List,
    ast.Tuple,
)
SCOPES = ("node", "gpu", "nic", "rank", "run")
QUANTIFIERS = ("any", "all", "count", "max", "min", "sum")
EVENT_FUNCTIONS = ("seen", "count", "ranks", "distinct")
MAX_LENGTH = 2000


@lru_cache(maxsize=4096)
def parse(text: str) -> ast.expr:
    """The tree of `text`; raises RuleError with the column for what is not part of the language."""
    if len(text) > MAX_LENGTH:
        raise RuleError(
            f"an expression of {len(text)} characters; the limit is {MAX_LENGTH}: move it into a derived fact"
        )
    # Texts are raw, as regular expressions need them: a backslash stands for itself.
    plain = text.strip().replace("\n", " ").replace("\\", "\\\\")
    try:
        tree = ast.parse(plain, mode="eval")
    except SyntaxError as error:
        raise RuleError(f"cannot read expression {text!r}: {error.msg}", column=error.offset or 0) from None
    except (ValueError, RecursionError, MemoryError):
        raise RuleError(f"cannot read expression {text[:60]!r}: nested too deep") from None
    for node in ast.walk(tree):
        if not isinstance(node, ALLOWED):
            column = getattr(node, "col_offset", -1) + 1
            raise RuleError(f"{type(node).__name__} is not part of conditions: {text!r}", column=column)
        if isinstance(node, ast.Constant) and not isinstance(node.value, str | int | float | bool):
            raise RuleError(f"literal {node.value!r} is not part of conditions", column=node.col_offset + 1)
        _check_regex(node)
    return tree.body


def _check_regex(node: ast.AST) -> None:
    """Raises RuleError if the pattern of `matches(text, pattern)` does not compile."""
    match node:
        case ast.Call(func=ast.Name(id="matches"), args=[_, ast.Constant(value=str(pattern))]):
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise RuleError(f"pattern {pattern!r} does not compile: {error}", column=node.col_offset + 1) from None


def dotted_name(node: ast.expr) -> str | None:
    """`config.tp` for the tree of that name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


@lru_cache(maxsize=4096)
def fact_names(text: str) -> tuple[str, ...]:
    """Every name in `text` that is looked up, functions, units and what stands in a quantifier left out; `fact('x')`
    counts as x."""
    found: dict[str, None] = {}
    _collect(parse(text), found)
    return tuple(found)


@lru_cache(maxsize=4096)
def reads(text: str) -> tuple[str, ...] | None:
    """The names whose values alone decide what `text` gives; None where it looks at other entities or at events."""
    tree = parse(text)
    found = dict.fromkeys(fact_names(text))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = dotted_name(node.func)
        if quantifies(node) or function in EVENT_FUNCTIONS:
            return None
        first = node.args[0] if node.args else None
        if function == "known" and isinstance(first, ast.Constant):
            found[str(first.value)] = None
    return tuple(found)


def _collect(node: ast.expr, found: dict[str, None]) -> None:
    if (name := dotted_name(node)) is not None:
        if name not in CONSTANTS and name not in ("true", "false"):
            found[name] = None
        return
    if isinstance(node, ast.Call):
        function = dotted_name(node.func)
        first = node.args[0] if node.args else None
        if function == "fact" and isinstance(first, ast.Constant):
            found[str(first.value)] = None
            return
        if quantifies(node):
            return
        for argument in node.args:
            _collect(argument, found)
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _collect(child, found)


def quantifies(node: ast.Call) -> bool:
    """Is this call a quantifier over inner entities, such as `any(gpu, gpu.power > 100*Watt)`?"""
    if dotted_name(node.func) not in QUANTIFIERS or len(node.args) != 2:
        return False
    return isinstance(node.args[0], ast.Name) and node.args[0].id in SCOPES
