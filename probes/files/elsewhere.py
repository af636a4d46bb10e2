"""The same reading of files on other machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Elsewhere: TypeAlias = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]], Callable[[int, Any], None]], list[int]]
"""Calls a function on other machines with each of many arguments, of which the first is the path of a file; tells each
result with its place, and gives back the places that are left."""
