"""One thing that is looked at, while a person watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is looked at. `state` is running, done, partial (some of it could not be seen) or failed; `done`
    of `total` parts are through; `most` are the seconds it is given at most; `reasons` say what could not be seen, and
    why."""

    name: str
    state: str = "running"
    seconds: float | None = None
    done: int = 0
    total: int = 0
    most: float | None = None
    reasons: tuple[str, ...] = ()


Told = Callable[[Item], None]
