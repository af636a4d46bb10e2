"""What the functions of conditions compute, over values that are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any


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


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
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


QUANTIFIERS: Mapping[str, Callable[[list[Any | None]], Any | None]] = {
    "any": _any,
    "all": _all,
    "count": lambda values: sum(1 for value in values if value),
    "max": _extreme(max),
    "min": _extreme(min),
    "sum": _extreme(sum),
}
"""What becomes of the values for the entities inside; None is one that is not known."""
