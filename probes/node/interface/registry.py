"""The probes, found by listing their folder."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from probes import node as folder
from probes.node.interface.model import Probe


@cache
def probes() -> tuple[Probe, ...]:
    names = sorted(module.name for module in iter_modules(folder.__path__) if not module.ispkg)
    return tuple(cast(Probe, import_module(f"{folder.__name__}.{name}")) for name in names)
