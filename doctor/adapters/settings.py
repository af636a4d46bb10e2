"""The neutral settings that adapters know: the planner's, and some that its models do not need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.planner import knobs
from doctor.planner.errors import PlanError, reason
from doctor.rulebase.model import Text

# Whole numbers and switches beyond the planner's: names of the fact catalogue, config.*.
NUMBERS = (
    "num_workers", "reduce_bucket", "allgather_bucket", "learning_rate", "save_interval", "dp_shard", "dp_replicate",
)  # fmt: skip
SWITCHES = ("manual_gc", "async_save", "overlap_grad_reduce", "overlap_param_gather", "pin_memory")
VARIABLE = re.compile(r"env\.[A-Za-z_][A-Za-z0-9_]*")
LONGEST = 4096


def checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes by their names here, values read. `zero_stage` becomes `sharding`. Raises PlanError."""
    found: dict[str, Any] = {}
    for name, value in changes.items():
        if VARIABLE.fullmatch(name):
            found[name] = _variable(name, value)
        elif name in NUMBERS:
            found[name] = _number(name, value)
        elif name in SWITCHES:
            found[name] = _switch(name, value)
        else:
            key, read = knobs.read(name, value)
            found["sharding" if key == "zero_stage" else key] = read
    return found


def _variable(name: str, value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    if len(text) > LONGEST or "\n" in text or "\0" in text:
        raise _wrong(name, f"{text[:40]!r}...", reason("right.line", most=LONGEST))
    return text


def _number(name: str, value: Any) -> int | float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise _wrong(name, repr(str(value)[:60]), reason("right.number")) from None
    if isinstance(value, bool) or not 0 <= number < 1e15:
        raise _wrong(name, repr(str(value)[:60]), reason("right.from_zero"))
    return int(number) if number == int(number) else number


def _switch(name: str, value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "false", "1", "0"):
        raise _wrong(name, repr(str(value)[:60]), reason("right.switch"))
    return word in ("true", "1")


def _wrong(name: str, value: str, right: Text) -> PlanError:
    return PlanError(reason("reason.value", name=name, value=value, right=right))
