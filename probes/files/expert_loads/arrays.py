"""Arrays of NumPy and tensors of PyTorch, read without running anything that a file says.

`.npy` and `.npz`: numpy.lib.format without pickled objects. `torch.save`: a zip archive whose data.pkl says how tensors
lie over the raw files beside it (torch/serialization.py, torch/_utils.py); it is unpickled with stand-ins of ours for
the few names that tensors need, and refused at any other name.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from probes.files.bounded import bounded
from probes.files.expert_loads.model import LoadError

if TYPE_CHECKING:
    import numpy as np

NPY, ZIP = b"\x93NUMPY", b"PK\x03\x04"
MOST_BYTES = 800 << 20
RATIO, FLOOR = 200, 16 << 20
"""A member of an archive may unpack to so many times its size, and to so many bytes in any case."""
LARGEST_PICKLE = 64 << 20
MOST_MEMBERS, MOST_PARTS = 100_000, 1_000_000
LONGEST_LIST = 16 << 20
MOST_DEPTH = 6

TYPES = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    "BFloat16Storage": "bf16",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
}
"""Typed storages by name and their element, little-endian."""
WIDTHS = {"f4": 4, "f8": 8, "f2": 2, "bf16": 2, "i8": 8, "i4": 4, "i2": 2, "i1": 1, "u1": 1}
"""Bytes of an element."""


class Tensor(NamedTuple):
    """Where a tensor lies: the raw file, its element, and its place in it.

    This and the stand-ins below are tuples, because a pickle may set the attributes of all that it is given (BUILD),
    and a tensor with a stride of less than nothing would be read from memory beside its storage.
    """

    key: str
    element: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def last(self) -> int:
        """The place of its last element in the storage."""
        return self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.stride, strict=True))


class _Type(NamedTuple):
    """Stands for a storage class."""

    name: str


class _Storage(NamedTuple):
    """Raw data: the file that holds them, and what its elements are."""

    key: str
    element: str


class _Rebuild(NamedTuple):
    """Stands for a function of torch that makes a tensor or a parameter of what the pickle says."""

    name: str

    def __call__(self, *given: Any) -> Any:
        return (given[0] if given else None) if self.name == PARAMETER else _tensor(*given)


PARAMETER = "_rebuild_parameter"
REBUILDS = ("_rebuild_tensor_v2", "_rebuild_tensor", PARAMETER)


class Readable(Protocol):
    """What pickles are read from."""

    def read(self, count: int, /) -> bytes: ...

    def readline(self) -> bytes: ...


class Unpickler(pickle.Unpickler):
    """Knows the names that tensors need, and refuses any other."""

    def find_class(self, module: str, name: str, /) -> Any:
        if module in ("torch", "torch.storage") and name in TYPES:
            return _Type(name)
        if module == "torch._utils" and name in REBUILDS:
            return _Rebuild(name)
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        raise LoadError(f"refers to {module[:60]}.{name[:60]}, which is no part of a tensor: it was not opened further")

    def persistent_load(self, pid: Any, /) -> Any:
        if isinstance(pid, tuple) and len(pid) >= 3 and pid[0] == "storage" and isinstance(pid[1], _Type):
            if len(pid) > 5 and pid[5] is not None:
                raise LoadError("holds a view of a storage, as PyTorch before 0.4 wrote it: that is not read")
            return _Storage(str(pid[2]), TYPES[pid[1].name])
        raise LoadError("refers to an object outside the file, which is no storage: it was not opened further")


def _tensor(storage: Any, offset: Any, shape: Any, stride: Any, *_: Any) -> Tensor | None:
    if not (isinstance(storage, _Storage) and isinstance(shape, tuple) and isinstance(stride, tuple)):
        return None
    if len(shape) != len(stride) or not all(type(n) is int and n >= 0 for n in (offset, *shape, *stride)):
        return None
    return Tensor(storage.key, storage.element, offset, shape, stride)


def kind_of(path: Path) -> str:
    """npy, npz, torch or legacy (torch before it wrote zip archives) by content; nothing for any other file."""
    from probes.files.expert_loads.legacy import is_legacy

    try:
        with path.open("rb") as file:
            head = file.read(16)
        if head.startswith(NPY):
            return "npy"
        if is_legacy(head):
            return "legacy"
        if not head.startswith(ZIP):
            return ""
        if not 0 < _list_size(path) <= LONGEST_LIST:
            return ""
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except Exception:  # whatever a damaged list of members raises: it is no file of ours
        return ""
    if len(names) > MOST_MEMBERS:
        return ""
    if names and all(name.endswith(".npy") for name in names):
        return "npz"
    return "torch" if any(name == "data.pkl" or name.endswith("/data.pkl") for name in names) else ""


def _list_size(path: Path) -> int:
    """Bytes of the archive's list of members as its end states it (APPNOTE 4.3.16); 0 where there is no end."""
    with path.open("rb") as file:
        file.seek(max(file.seek(0, 2) - (1 << 16), 0))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    return int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0


def npy_arrays(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The array of a `.npy` file, under the file's name."""
    with path.open("rb") as file:
        yield path.name.rpartition(".npy")[0] or path.name, _npy(file)


def npz_names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def npz_arrays(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            _plausible(name, info)
            with archive.open(info) as file:
                yield name, _npy(file)


def _plausible(name: str, info: zipfile.ZipInfo) -> None:
    """Raises LoadError for a member that packs better than counts do: it holds one number over and over."""
    if info.file_size > max(RATIO * info.compress_size, FLOOR):
        raise LoadError(f"{name} unpacks from {info.compress_size:,} to {info.file_size:,} bytes: it was not opened")


def _npy(file: IO[bytes]) -> np.ndarray:
    import numpy as np
    from numpy.lib import format as npy

    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file, max_header_size=10_000)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise LoadError(f"is a damaged array: {str(error)[:120]}") from None
    if dtype.kind not in "iufb":
        raise LoadError(f"holds {dtype.name or 'objects'} and no numbers: it was not opened further")
    count = 1
    for length in shape:
        count *= int(length)
    size = count * dtype.itemsize
    if not 0 <= size <= MOST_BYTES:
        raise LoadError(f"says that it holds {size:,} bytes, more than the {MOST_BYTES:,} that are read")
    data = file.read(size)
    if len(data) < size:
        raise LoadError(f"ends early: {len(data):,} of {size:,} bytes")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")


def tensors(path: Path) -> Mapping[str, Tensor]:
    """Where the tensors of a `torch.save` file lie, by name; nothing of their data is read."""
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n == "data.pkl" or n.endswith("/data.pkl"))
        with archive.open(name) as file:
            data = file.read(LARGEST_PICKLE + 1)
    if len(data) > LARGEST_PICKLE:
        raise LoadError(f"its list of tensors holds more than {LARGEST_PICKLE:,} bytes")
    return dict(named(unpickled(io.BytesIO(data), len(data)), path.name.rpartition(".")[0]))


def unpickled(file: Readable, size: int) -> Any:
    """The next object of a file of which the pickles hold `size` bytes; raises LoadError."""
    try:
        with bounded(size):
            return Unpickler(file).load()
    except LoadError:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise LoadError(f"its list of tensors is damaged: {str(error)[:120] or type(error).__name__}") from None


def named(told: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors of an object by the keys and places that lead to them.

    A part that stands in many places costs a few bytes each time, so that what is looked at must have an end.
    """
    waiting, looked_at = [(told, name, 0)], 0
    while waiting:
        told, name, depth = waiting.pop()
        if isinstance(told, Tensor):
            yield name, told
            continue
        if depth >= MOST_DEPTH or not isinstance(told, dict | list | tuple):
            continue
        looked_at += len(told)
        if looked_at > MOST_PARTS:
            raise LoadError(f"its list of tensors names more than {MOST_PARTS:,} parts")
        parts = list(told.items() if isinstance(told, dict) else enumerate(told))
        waiting += [(part, f"{name}.{_word(key)}" if depth else _word(key), depth + 1) for key, part in reversed(parts)]


def _word(key: Any) -> str:
    """A key as a part of a name; what is neither a text nor a number of usual size is not written out."""
    return key[:200] if isinstance(key, str) else str(key) if isinstance(key, int) and abs(key) < 1 << 62 else "?"


def torch_arrays(path: Path, wanted: Mapping[str, Tensor]) -> Iterator[tuple[str, np.ndarray]]:
    """The data of some tensors."""
    with zipfile.ZipFile(path) as archive:
        root = next(n for n in archive.namelist() if n == "data.pkl" or n.endswith("/data.pkl"))[: -len("data.pkl")]
        for name, tensor in wanted.items():
            if 0 in tensor.shape:
                continue
            needed = (tensor.last + 1) * WIDTHS[tensor.element]
            if needed > MOST_BYTES:
                raise LoadError(f"{name} holds more than {MOST_BYTES:,} bytes")
            try:
                _plausible(name, archive.getinfo(f"{root}data/{tensor.key}"))
                with archive.open(f"{root}data/{tensor.key}") as file:
                    data = file.read(needed)
            except (KeyError, zipfile.BadZipFile, OSError, RuntimeError, EOFError) as error:
                raise LoadError(f"the data of {name} cannot be read: {str(error)[:120]}") from None
            yield name, shaped(name, tensor, data)


def shaped(name: str, tensor: Tensor, data: bytes) -> np.ndarray:
    """The tensor as an array over the raw data of its storage."""
    import numpy as np

    half = tensor.element == "bf16"
    dtype = np.dtype("<u2" if half else "<" + tensor.element)
    flat = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype=dtype)
    if len(flat) <= tensor.last:
        raise LoadError(f"the data of {name} end early")
    if math.prod(tensor.shape) > len(flat):
        raise LoadError(f"{name} repeats the same data: it says more elements than the {len(flat):,} of its storage")
    if half:
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    steps = tuple(s * flat.itemsize for s in tensor.stride)
    return np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, steps, writeable=False)
