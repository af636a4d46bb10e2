"""Tensors of `torch.save` as PyTorch wrote them before 1.6, and since on request, read without running anything.

Five pickles follow each other (a number that tells the format, its version, the machine, the objects, the keys of the
storages), then for each key the number of its elements in 8 bytes and the raw data (torch/serialization.py,
`_legacy_save` and `_legacy_load`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from probes.files.expert_loads.arrays import LARGEST_PICKLE, MOST_BYTES, WIDTHS, Tensor, named, shaped, unpickled
from probes.files.expert_loads.model import LoadError

if TYPE_CHECKING:
    import numpy as np

MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""The pickle of torch's magic number in protocol 2, which is what `torch.save` writes."""
VERSION = 1001
MOST_STORAGES = 100_000
SIZE = 8


class _Pickles:
    """The pickles at the beginning of a file: so much of it is read and no more."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, LARGEST_PICKLE

    def read(self, count: int = -1) -> bytes:
        return self._taken(self._file.read(min(count, self._left + 1) if count >= 0 else self._left + 1))

    def readline(self) -> bytes:
        return self._taken(self._file.readline(self._left + 1))

    def _taken(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise LoadError(f"its list of tensors holds more than {LARGEST_PICKLE:,} bytes")
        return data


def is_legacy(head: bytes) -> bool:
    return head.startswith(MAGIC)


def tensors(path: Path) -> Mapping[str, Tensor]:
    """Where the tensors lie, by name; nothing of their data is read."""
    with path.open("rb") as file:
        told, _ = _list(file)
    return dict(named(told, path.name.rpartition(".")[0]))


def arrays(path: Path, wanted: Mapping[str, Tensor]) -> Iterator[tuple[str, np.ndarray]]:
    """The data of some tensors."""
    with path.open("rb") as file:
        _, keys = _list(file)
        widths = {tensor.key: WIDTHS[tensor.element] for tensor in tensors(path).values()}
        places = _places(file, keys, widths)
        for name, tensor in wanted.items():
            if tensor.key not in places:
                raise LoadError(f"the data of {name} are not in the file")
            start, size = places[tensor.key]
            file.seek(start)
            if 0 not in tensor.shape:
                yield name, shaped(name, tensor, file.read(min(size, MOST_BYTES)))


def _list(file: IO[bytes]) -> tuple[Any, list[str]]:
    """The objects of the file and the keys of its storages; leaves the file where the storages begin."""
    size = os.fstat(file.fileno()).st_size
    pickles = _Pickles(file)
    _, version, _, told, keys = (unpickled(pickles, min(size, LARGEST_PICKLE)) for _ in range(5))
    if version != VERSION or not isinstance(keys, list) or len(keys) > MOST_STORAGES:
        raise LoadError("is no file of torch.save that is known")
    return told, [str(key) for key in keys]


def _places(file: IO[bytes], keys: list[str], widths: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Where the data of each storage begin, and how many bytes they are."""
    places: dict[str, tuple[int, int]] = {}
    for key in keys:
        size = file.read(SIZE)
        if len(size) < SIZE:
            raise LoadError(f"ends early: {len(places)} of {len(keys)} storages are there")
        if key not in widths:  # no tensor lies on it, so how wide its elements are is unknown, and what follows too
            break
        places[key] = (file.tell(), int.from_bytes(size, "little", signed=True) * widths[key])
        if places[key][1] < 0:
            raise LoadError("states a storage of less than no elements")
        file.seek(places[key][1], 1)
    return places
