"""Turns the text of a setting into a value in the catalogue's type and unit.

A converter takes the text as it stands and returns a value, several facts (a mapping of fact names to values), or
None where the setting leaves the choice to the framework. It raises ValueError, saying what would be right, where
the text cannot be understood.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from doctor.facts.model import Value

Reading: TypeAlias = Value | Mapping[str, Value] | None
Converter: TypeAlias = Callable[[str], Reading]

UNSET = frozenset({"", "auto", "null", "~", "???", "...", "unset", "todo"})
YES = frozenset({"true", "yes", "on", "1", "enable", "enabled"})
NO = frozenset({"false", "no", "off", "0", "disable", "disabled", "none"})
LARGEST = 1e18
SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}


def is_unset(text: str) -> bool:
    """Is the value left open: "auto", null, or a variable that the file does not define?"""
    return text.strip().lower() in UNSET or "$" in text or "{{" in text


def number(text: str) -> float:
    """A finite number; `1e9`, `5_000` and `2 * 1024` are understood."""
    value = arithmetic(text)
    if value is None:
        raise ValueError("not a number")
    return float(value)


def whole(text: str) -> int | None:
    """A whole number from 0; None and -1 leave it open."""
    if text.lower() == "none":
        return None
    value = arithmetic(text)
    if value is None or value != int(value):
        raise ValueError("not a whole number")
    return int(value) if value >= 0 else None


def count(text: str) -> int | None:
    """A whole number from 1; 0 and -1 leave it to the framework."""
    if text.lower() in ("gpu", "cpu", "all", "xpu", "npu"):
        return None
    return whole(text) or None


def flag(text: str) -> bool:
    low = text.lower()
    if low in YES:
        return True
    if low in NO:
        return False
    raise ValueError("not true or false")


def inverted(text: str) -> bool:
    return not flag(text)


def flag_as(value: Value, otherwise: Value | None = None) -> Converter:
    """A switch that stands for `value` when on, and for `otherwise` when off."""

    def convert(text: str) -> Reading:
        return value if flag(text) else otherwise

    return convert


def flags(**facts: Value) -> Converter:
    """A switch that states several facts of the configuration when on."""

    def convert(text: str) -> Reading:
        return {f"config.{name}": value for name, value in facts.items()} if flag(text) else None

    return convert


def text(value: str) -> str | None:
    return value if value and value.lower() not in ("none", "false", "true") else None


def lower(value: str) -> str | None:
    return text(value.rsplit(".", 1)[-1].lower())


def seconds(value: str) -> float:
    """A duration: seconds, `30m`, `2h`, `0:30:00`, `2-00:00:00`."""
    if parts := re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?", value.strip()):
        days, first, second, third = (float(part or 0) for part in parts.groups())
        return days * 86400 + (first * 3600 + second * 60 + third if parts[4] else first * 60 + second)
    if unit := re.fullmatch(r"([\d.]+)\s*(ms|[smhd])", value.strip().lower()):
        return float(unit[1]) * SECONDS[unit[2]]
    return number(value)


def minutes(value: str) -> float:
    return number(value) * 60


def milliseconds(value: str) -> float:
    return number(value) / 1000


def size(default: str = "") -> Converter:
    """A size in bytes, such as `16g`, `64MB` or `200GiB`; a bare number is in units of `default` (k, m, g)."""

    def convert(value: str) -> Reading:
        found = re.fullmatch(r"([\d.]+)\s*([kmgt]?)(?:i?b)?", value.strip().lower())
        if not found:
            raise ValueError("not a size such as 16g")
        return int(number(found[1]) * SIZES[found[2] or default])

    return convert


def precision(value: str) -> str | None:
    """bf16, fp16 or fp32, from what the frameworks call them."""
    low = value.lower().removeprefix("torch.")
    if low.startswith(("bf16", "bfloat16")):
        return "bf16"
    if low.startswith(("fp16", "float16", "half", "16")):
        return "fp16"
    if low.startswith(("fp32", "float32", "32", "float", "tf32")) or low == "no":
        return "fp32"
    if low.startswith(("fp8", "none", "64", "float64")) or low in YES | NO:
        return None
    raise ValueError("not a precision such as bf16")


def zero_stage(value: str) -> int | None:
    stage = whole(value)
    if stage is not None and stage > 3:
        raise ValueError("not a ZeRO stage from 0 to 3")
    return stage


def offload(name: str) -> Converter:
    """An offload device (`cpu`, `nvme`, `none`) or a switch."""

    def convert(value: str) -> Reading:
        low = value.lower()
        if low in ("cpu", "nvme"):
            return {name: True, "config.offload_device": low}
        return False if low == "none" else flag(value)

    return convert


def arithmetic(value: str) -> float | int | None:
    """The value of a number or of a short sum or product of numbers; None for anything else. Nothing is executed."""
    plain = value.strip().replace("_", "")
    if re.fullmatch(r"\d{1,3}(,\d{3})+", plain):
        plain = plain.replace(",", "")
    try:
        return _bounded(int(plain) if plain.lstrip("+-").isdigit() else float(plain))
    except ValueError:
        pass
    if len(value) > 80 or not re.fullmatch(r"[\d\s.()e*/+%-]+", value) or "**" in value:
        return None
    try:
        return _fold(ast.parse(value.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ZeroDivisionError, OverflowError):
        return None


def _fold(node: ast.expr) -> float | int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _fold(node.operand)
        return None if inner is None else (-inner if isinstance(node.op, ast.USub) else inner)
    if isinstance(node, ast.BinOp):
        left, right = _fold(node.left), _fold(node.right)
        if left is None or right is None:
            return None
        match node.op:
            case ast.Add():
                return _bounded(left + right)
            case ast.Sub():
                return _bounded(left - right)
            case ast.Mult():
                return _bounded(left * right)
            case ast.FloorDiv():
                return _bounded(left // right)
            case ast.Div():
                return _bounded(left // right if isinstance(left, int) and left % right == 0 else left / right)
            case ast.Mod():
                return _bounded(left % right)
    return None


def _bounded(value: float | int) -> float | int | None:
    return value if math.isfinite(value) and abs(value) <= LARGEST else None
