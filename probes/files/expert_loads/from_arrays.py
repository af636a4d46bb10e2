"""From arrays to loads: [experts], [layers, experts] or [steps, layers, experts]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from probes.files.expert_loads import legacy
from probes.files.expert_loads.arrays import (
    Tensor,
    kind_of,
    npy_arrays,
    npz_arrays,
    npz_names,
    tensors,
    torch_arrays,
)
from probes.files.expert_loads.model import FEWEST, MOST_EXPERTS, LoadError, Loads, is_name, layer_of, looks_like_loads

if TYPE_CHECKING:
    import numpy as np

SAMPLE = 64
"""Rows by which an array without a telling name is judged."""
LOOKED_AT = 4096
TORCH = ("torch", "legacy")
NAMELESS = re.compile(r"arr_\d+")
"""What numpy.savez calls arrays that are given no name."""


def holds_loads(path: Path) -> bool:
    """Has the file an array that is called like counts of tokens, or looks like them?"""
    kind = kind_of(path)
    try:
        if kind in TORCH:
            return bool(_wanted(path, kind))
        if kind == "npz" and all(NAMELESS.fullmatch(name) for name in npz_names(path)):
            return any(_may_be_loads(array) for _, array in npz_arrays(path))
        if kind:
            return any(_is_loads(name, array) for name, array in _arrays(path, kind))
    except LoadError:
        return is_name(path.stem)
    return False


def read(path: Path, loads: Loads) -> None:
    """Adds what the arrays of the file say."""
    kind = kind_of(path)
    if kind in TORCH:
        wanted = _wanted(path, kind)
        if not wanted:
            raise LoadError("holds no tensor that is called like tokens of experts")
        found: Iterable[tuple[str, np.ndarray]] = (legacy.arrays if kind == "legacy" else torch_arrays)(path, wanted)
    elif kind == "npz" and all(NAMELESS.fullmatch(name) for name in npz_names(path)):
        found = _nameless(path)
    else:
        found = ((name, array) for name, array in _arrays(path, kind) if _is_loads(name, array))
    for name, array in found:
        _add(loads, name, array)


def _arrays(path: Path, kind: str) -> Iterable[tuple[str, np.ndarray]]:
    return npy_arrays(path) if kind == "npy" else npz_arrays(path)


def _nameless(path: Path) -> list[tuple[str, np.ndarray]]:
    """Arrays that `numpy.savez` was given without names. One of them that looks like counts is taken for these; vectors
    with alike sums are the layers of one model."""
    found = list(npz_arrays(path))
    if alike := [(name, array) for name, array in found if array.ndim > 1 and _is_loads("", array)]:
        return alike
    vectors = [(name, array) for name, array in found if array.ndim == 1 and _fits(array.shape)]
    if len(vectors) > 1 and looks_like_loads([array.tolist() for _, array in vectors[:SAMPLE]]):
        return vectors
    names = ", ".join(name for name, _ in found[:3]) + (" ..." if len(found) > 3 else "")
    raise LoadError(
        f"its arrays carry no names ({names}), and their numbers do not tell what they are: if they are tokens of "
        "experts, save them with numpy.savez(path, tokens_per_expert=...), [steps, layers, experts]"
    )


def _may_be_loads(array: np.ndarray) -> bool:
    """Whole numbers, none negative, not all of them alike, in a shape that counts have."""
    if not _fits(array.shape) or not array.size:
        return False
    values = array.reshape(-1)[:LOOKED_AT]
    return bool((values >= 0).all() and (values == values.round()).all() and (values != values[0]).any())


def _wanted(path: Path, kind: str) -> Mapping[str, Tensor]:
    found = legacy.tensors(path) if kind == "legacy" else tensors(path)
    return {n: t for n, t in found.items() if is_name(n) and _fits(t.shape)}


def _fits(shape: tuple[int, ...]) -> bool:
    return 1 <= len(shape) <= 3 and FEWEST <= shape[-1] <= MOST_EXPERTS


def _is_loads(name: str, array: np.ndarray) -> bool:
    if not _fits(array.shape):
        return False
    if is_name(name):
        return True
    rows = (
        array.reshape(-1, array.shape[-1]) if array.ndim == 2 else array[0] if array.ndim == 3 and len(array) else None
    )
    return rows is not None and looks_like_loads(rows[:SAMPLE].tolist())


def _add(loads: Loads, name: str, array: np.ndarray) -> None:
    if array.ndim == 1:
        loads.add(-1, layer_of(name), array.tolist())
    elif array.ndim == 2:
        for layer, row in enumerate(array.tolist()):
            loads.add(-1, str(layer), row)
    else:
        for step, layers in enumerate(array):
            for layer, row in enumerate(layers.tolist()):
                loads.add(step, str(layer), row)
