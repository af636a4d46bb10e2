"""A measured number as a person reads it beside its name: 97.0 %, 12.3 us, 45.1 GB/s."""

from __future__ import annotations

from doctor.facts.model import Value

TIMES = ("_time", "_lag", "_skew", "_offset")
SMALL = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def told(name: str, value: Value, entity: str) -> str:
    """`rank 0: trace.launch_lag = 12.3 us`; nothing for a value that is no number. Names of facts end as their units
    do: shares, seconds, microseconds, B/s."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{entity.replace(':', ' ', 1)}: {name} = {_amount(name, value)}"


def _amount(name: str, value: float) -> str:
    if name.endswith(("_share", "_fraction")):
        return f"{value:.1%}".replace("%", " %")
    if name.endswith(TIMES):
        return _seconds(value)
    if name.endswith("_us"):
        return _seconds(value / 1e6)
    if name.endswith("_rate"):
        return f"{value / 1e9:.3g} GB/s"
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _seconds(value: float) -> str:
    unit, word = next(((unit, word) for unit, word in SMALL if abs(value) >= unit), SMALL[0])
    return f"{value / unit:.4g} {word}"
