"""Single values of a dump, read leniently: versions and encodings write the same thing in different ways."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

LONGEST = 200
"""Characters that are kept of a name."""

WIDEST = 1 << 62
MOST_RANKS = 1 << 18
"""No job has so many; each rank that a group names takes memory, whether it left a dump or not."""
MOST_DIMENSIONS = 64
"""What has more is no shape of a tensor: the kernels of PyTorch take 64 at most."""
_NUMBER = re.compile(r"-?\d{1,19}")
_NAME = re.compile(
    r"(?:(?P<backend>[\w.+-]{1,40}):)?(?P<op>\w{1,100})(?:\s+\d{1,9}\s*(?P<way>->|<-)\s*(?P<peer>\d{1,9}))?"
)
_TORCH = re.compile(r"(?:^|/)torch/|(?:^|/)torch_npu/|<frozen|c10d_logger\.py$|distributed_c10d\.py$")
_LAUNCH = re.compile(r"(?:^|/)multiprocessing/|(?:^|/)runpy\.py$|(?:^|/)threading\.py$")


def whole(value: Any, default: int = 0) -> int:
    """A whole number, also written as text; `default` for None and for anything else."""
    if type(value) is int:
        return value if -WIDEST < value < WIDEST else default
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value == value and abs(value) < WIDEST:
        return int(value)
    return default


def text(value: Any) -> str:
    """A name, cut to what can be shown."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST]
    if isinstance(value, bytes):
        return value[:LONGEST].decode("utf-8", "replace")
    return str(value) if isinstance(value, int) and -WIDEST < value < WIDEST else ""


def ranks(value: Any) -> tuple[int, ...]:
    """The ranks of a group: a list, or the text of one; none where one of them can be no rank."""
    if isinstance(value, str):
        return _written(value)
    if isinstance(value, list | tuple) and len(value) <= MOST_RANKS:
        return _ranks(whole(item, -1) for item in value)
    return ()


@lru_cache(maxsize=256)
def _written(text: str) -> tuple[int, ...]:
    return _ranks(int(number) for number in re.findall(r"\d{1,9}", text)) if len(text) < 10 * MOST_RANKS else ()


def _ranks(numbers: Iterable[int]) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(numbers))
    return found if all(0 <= rank < MOST_RANKS for rank in found) else ()


def elements(sizes: Any) -> int:
    """Elements of all tensors together; sizes is a list of shapes."""
    total = 0
    if isinstance(sizes, list | tuple):
        for shape in sizes:
            if isinstance(shape, list | tuple) and len(shape) <= MOST_DIMENSIONS:
                count = 1
                for extent in shape:
                    count = min(count * max(whole(extent), 0), WIDEST)
                total = min(total + count, WIDEST)
    return total


def call(name: str) -> tuple[str, str, str, int]:
    """Backend, operation, "->" or "<-" and the other's rank within the group; "" and -1 where there is none."""
    match = _NAME.match(name[:LONGEST])
    if match is None:
        return "", "unknown", "", -1
    op = match["op"].strip("_").removesuffix("_oop")
    return match["backend"] or "", op, match["way"] or "", int(match["peer"]) if match["peer"] else -1


def user_frame(frames: Any) -> str:
    """The innermost place of the stack that is not PyTorch's own, as "file:line function"."""
    if type(frames) is not list and type(frames) is not tuple:
        return ""
    chosen: Any = None
    for frame in frames if len(frames) <= 64 else frames[:64]:
        if type(frame) is not dict:
            continue
        if chosen is None:
            chosen = frame
        file = frame.get("filename")
        if type(file) is str and not _is_own(file if len(file) <= LONGEST else file[-LONGEST:]):
            chosen = frame
            break
    if chosen is None:
        return ""
    file, line, name = chosen.get("filename"), chosen.get("line"), chosen.get("name")
    if type(file) is str and type(name) is str and type(line) is int and len(file) + len(name) < LONGEST:
        return _place(file, line, name)
    return _place(text(file), whole(line), text(name))


@lru_cache(maxsize=4096)
def _place(file: str, line: int, name: str) -> str:
    return f"{text(file)}:{whole(line)} {text(name)}"


@lru_cache(maxsize=4096)
def _is_own(file: str) -> bool:
    """Is it PyTorch's, or the interpreter's start of a process? Of a long path the end decides."""
    return bool(_TORCH.search(file) or _LAUNCH.search(file))
