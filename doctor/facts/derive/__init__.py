"""Facts computed from other facts and events, one file a topic.

A topic's module has `NEEDS` and `GIVES` (names of facts, or `event:NAME`) and `derive(store)`, which yields facts.
Modules are found by listing this folder and run so that what one needs is computed before it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from doctor.facts.model import Fact, Quality
from doctor.facts.store import FactStore


class Derivation(Protocol):
    """What a module of this folder offers."""

    NEEDS: tuple[str, ...]
    GIVES: tuple[str, ...]
    __name__: str

    def derive(self, store: FactStore) -> Iterable[Fact]: ...


def derivations() -> list[Derivation]:
    """All derivations, in an order in which what one gives comes before what needs it."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [cast(Derivation, import_module(f"{__name__}.{name}")) for name in names]
    return in_order([module for module in modules if hasattr(module, "derive")])


def in_order(modules: Sequence[Derivation]) -> list[Derivation]:
    """`modules` sorted by what they need; raises ValueError for a circle."""
    waiting, done = list(modules), []
    while waiting:
        pending = {name for module in waiting for name in module.GIVES}
        ready = [m for m in waiting if not (set(m.NEEDS) & (pending - set(m.GIVES)))]
        if not ready:
            raise ValueError("derivations need each other: " + ", ".join(m.__name__ for m in waiting))
        done += ready
        waiting = [module for module in waiting if module not in ready]
    return done


def run_derivations(store: FactStore) -> list[str]:
    """Adds every derived fact to `store`. A derivation that raises gives nothing and is named in the answer."""
    broken: list[str] = []
    for module in derivations():
        try:
            for fact in module.derive(store):
                store.add(fact if fact.quality is Quality.FAILED else replace(fact, quality=Quality.DERIVED))
        except Exception as error:  # one broken derivation must not end a diagnosis
            broken.append(f"{module.__name__.rsplit('.', 1)[-1]}: {type(error).__name__}: {error}")
    return broken
