"""From arrays to loads: [experts], [layers, experts] or [steps, layers, experts]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from probes.files.expert_loads.arrays import Tensor, kind_of, npy_arrays, npz_arrays, tensors, torch_arrays
from probes.files.expert_loads.model import FEWEST, MOST_EXPERTS, LoadError, Loads, is_name, layer_of, looks_like_loads

if TYPE_CHECKING:
    import numpy as np

SAMPLE = 64
"""Rows by which an array without a telling name is judged."""


def holds_loads(path: Path) -> bool:
    """Has the file an array that is called like counts of tokens, or looks like them?"""
    kind = kind_of(path)
    try:
        if kind == "torch":
            return bool(_wanted(path))
        if kind:
            return any(_is_loads(name, array) for name, array in _arrays(path, kind))
    except LoadError:
        return is_name(path.stem)
    return False


def read(path: Path, loads: Loads) -> None:
    """Adds what the arrays of the file say."""
    kind = kind_of(path)
    if kind == "torch":
        wanted = _wanted(path)
        if not wanted:
            raise LoadError("holds no tensor that is called like tokens of experts")
        found: Iterable[tuple[str, np.ndarray]] = torch_arrays(path, wanted)
    else:
        found = ((name, array) for name, array in _arrays(path, kind) if _is_loads(name, array))
    for name, array in found:
        _add(loads, name, array)


def _arrays(path: Path, kind: str) -> Iterable[tuple[str, np.ndarray]]:
    return npy_arrays(path) if kind == "npy" else npz_arrays(path)


def _wanted(path: Path) -> Mapping[str, Tensor]:
    return {n: t for n, t in tensors(path).items() if is_name(n) and _fits(t.shape)}


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
