"""The values of a record of a published measurement, each with its name for errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.planner.errors import PlanError, reason

LARGEST = 2**40
# Load of the busiest expert rank over the mean: what makes up for the difference between forced balance and real
# routing of Qwen3-235B at three sequence lengths (Megatron-MoE-ModelZoo, best_practice/qwen3), 1.38 to 1.45.
REAL_ROUTING = 1.4


class Fields:
    """The sections of a record, read with their names in errors; `assumed` collects what had to be assumed."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.assumed: list[str] = []

    def section(self, name: str) -> Mapping[str, Any]:
        value = self.raw.get(name)
        return value if isinstance(value, dict) else {}

    def get(self, section: str, name: str) -> Any:
        return self.section(section).get(name)

    def whole(self, section: str, name: str, default: int | None = None) -> int:
        """A whole number; without a default a missing or unstated one raises PlanError."""
        return whole(self.section(section), name, f"{section}.{name}", default)

    def text(self, section: str, name: str) -> str:
        value = self.get(section, name)
        return str(value).strip().lower() if isinstance(value, str | int | float | bool) else ""

    def imbalance(self) -> float:
        """Load of the busiest expert rank over the mean: 1 where a benchmark forces an even load."""
        if "real" not in self.text("train", "balance"):
            return 1.0
        self.assumed.append(f"imbalance: {REAL_ROUTING} (real routing)")
        return REAL_ROUTING

    def flag(self, name: str) -> Any:
        flags = self.get("train", "flags")
        return flags.get(name) if isinstance(flags, dict) else None

    @property
    def megatron_test(self) -> bool:
        return isinstance(self.get("train", "flags"), dict)


def whole(values: Mapping[str, Any], name: str, where: str, default: int | None = None) -> int:
    """values[name] as a whole number from 0; `default` where it is missing. Raises PlanError."""
    value = values.get(name)
    if value is None or isinstance(value, str):
        if default is None:
            raise PlanError(reason("record.whole", name=where, value=value or reason("record.missing")))
        if value is None:
            return default
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < LARGEST:
        raise PlanError(reason("record.whole", name=where, value=repr(value)[:60]))
    return number
