"""Hooks that never raise, do nothing while code is being compiled, and leave copies and pickles of a model whole."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from importlib import import_module
from typing import Any


class Hook:
    """Calls `call` with what torch gives. A copy of it, by copy or pickle, is a callable of the standard library that
    does nothing: a model that is saved whole can be loaded where this package is not."""

    __slots__ = ("_call", "_compiling")

    def __init__(self, call: Callable[..., None]) -> None:
        torch = import_module("torch")
        self._call = call
        self._compiling: Callable[[], bool] = getattr(torch.compiler, "is_compiling", None) or _before(torch)

    def __call__(self, *given: Any) -> None:
        if not self._compiling():
            self._call(*given)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext(), "__exit__")


def _before(torch: Any) -> Callable[[], bool]:
    """The same of the versions in which torch.compiler did not have it yet."""
    return getattr(getattr(torch, "_dynamo", None), "is_compiling", None) or (lambda: False)
