"""Single values of a dump, read leniently: versions and encodings write the same thing in different ways."""

from __future__ import annotations

import re
from typing import Any

LONGEST = 200
"""Characters that are kept of a name."""

WIDEST = 1 << 62
_NUMBER = re.compile(r"-?\d{1,19}")
_NAME = re.compile(
    r"(?:(?P<backend>[\w.+-]{1,40}):)?(?P<op>\w{1,100})(?:\s+(?P<own>\d{1,9})\s*(?P<way>->|<-)\s*(?P<peer>\d{1,9}))?"
)
_TORCH = re.compile(r"(?:^|/)torch/|(?:^|/)torch_npu/|<frozen|c10d_logger\.py$|distributed_c10d\.py$")
_LAUNCH = re.compile(r"(?:^|/)multiprocessing/|(?:^|/)runpy\.py$|(?:^|/)threading\.py$")


def whole(value: Any, default: int = 0) -> int:
    """A whole number, also written as text; `default` for None and for anything else."""
    if isinstance(value, bool):
        return default
    if isinstance(value, int):
        return value if -WIDEST < value < WIDEST else default
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value == value and abs(value) < WIDEST:
        return int(value)
    return default


def text(value: Any) -> str:
    """A name, cut to what can be shown."""
    if isinstance(value, bytes):
        value = value[:LONGEST].decode("utf-8", "replace")
    if isinstance(value, str):
        return value[:LONGEST]
    return str(value) if isinstance(value, int) and -WIDEST < value < WIDEST else ""


def ranks(value: Any) -> tuple[int, ...]:
    """The ranks of a group: a list, or the text of one."""
    if isinstance(value, str):
        return tuple(int(number) for number in re.findall(r"\d{1,9}", value))
    if isinstance(value, list | tuple):
        found = tuple(whole(item, -1) for item in value)
        return found if all(rank >= 0 for rank in found) else ()
    return ()


def elements(sizes: Any) -> int:
    """Elements of all tensors together; sizes is a list of shapes."""
    total = 0
    if isinstance(sizes, list | tuple):
        for shape in sizes:
            if isinstance(shape, list | tuple):
                count = 1
                for extent in shape:
                    count = min(count * max(whole(extent), 0), WIDEST)
                total = min(total + count, WIDEST)
    return total


def dtypes(entry: dict[str, Any]) -> str:
    """The types of input and output, each once."""
    found: dict[str, None] = {}
    for key in ("input_dtypes", "output_dtypes"):
        kinds = entry.get(key)
        if isinstance(kinds, list | tuple):
            found.update(dict.fromkeys(text(kind) for kind in kinds[:64]))
    return "+".join(found)[:LONGEST]


def call(name: Any) -> tuple[str, str, int, str, int]:
    """Backend, operation, own rank within the group, "->" or "<-", the other's rank; -1 and "" where there is none."""
    match = _NAME.match(text(name))
    if match is None:
        return "", "unknown", -1, "", -1
    own, peer = match["own"], match["peer"]
    op = match["op"].strip("_").removesuffix("_oop")
    return match["backend"] or "", op, int(own) if own else -1, match["way"] or "", int(peer) if peer else -1


def user_frame(frames: Any) -> str:
    """The innermost place of the stack that is not PyTorch's own, as "file:line function"."""
    if not isinstance(frames, list | tuple):
        return ""
    first = ""
    for frame in frames[:64]:
        if not isinstance(frame, dict):
            continue
        file = text(frame.get("filename"))
        shown = f"{file}:{whole(frame.get('line'))} {text(frame.get('name'))}"
        first = first or shown
        if not _TORCH.search(file) and not _LAUNCH.search(file):
            return shown
    return first
