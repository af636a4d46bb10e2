"""Cuts the text of a trace into its head, blocks of whole events, and its tail, without reading it into memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = 1 << 20
"""Text decoded at once; a larger block is no faster."""

LONGEST = 64 << 20
"""A head or an event of more text than this is taken for damage."""

TRIED = 64
"""Places that are looked at for the end of an event before other separators are."""

SEARCHED = 1 << 18
"""Text at the end of a block that is searched for other separators."""

START = re.compile(rb'"traceEvents"\s*:\s*\[')
KEYS = rb'\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|s|bp|tts)"\s*:'
BOUNDARY = re.compile(rb"\}(\s*),(\s*)\{(?=" + KEYS + rb")")
FIRST = re.compile(KEYS)
END = re.compile(rb"\s*,?\s*\]")


@dataclass(slots=True)
class Cut:
    """What surrounds the events: JSON texts `head` and `tail`, and whether the array of events was closed."""

    head: bytes = b""
    tail: bytes = b""
    closed: bool = False
    bare: bool = False
    lost: int = 0
    separator: bytes = b""


def blocks(pieces: Iterator[bytes], cut: Cut) -> Iterator[bytes]:
    """Blocks of whole events, `{...},{...}`; `cut` is filled on the way.

    A trace is an object with `traceEvents`, or the bare array that the old autograd profiler wrote.
    """
    buffer = _to_first(pieces, cut)
    held: list[bytes] = [buffer]
    size = len(buffer)
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < BLOCK:
            continue
        text = b"".join(held)
        place = _last_boundary(text, cut)
        if place is None:
            if size > LONGEST:
                cut.lost += 1
                text = text[-BLOCK:]
            held, size = [text], len(text)
            continue
        end = place + len(cut.separator) - 1
        yield text[: place + 1]
        held, size = [text[end:]], len(text) - end
    yield from _rest(b"".join(held), cut)


def _to_first(pieces: Iterator[bytes], cut: Cut) -> bytes:
    """Reads up to the first event and gives the text from there."""
    text = b""
    for piece in pieces:
        text += piece
        if not text.strip():
            continue
        if text.lstrip()[:1] == b"[":
            cut.bare = True
            return text.lstrip()[1:]
        if (found := START.search(text)) is not None:
            cut.head = text[: found.start()]
            return text[found.end() :]
        if len(text) > LONGEST:
            break
    cut.head = text[:LONGEST]
    return b""


def _last_boundary(text: bytes, cut: Cut) -> int | None:
    """Where the last event but one ends. The separator that fitted last is tried first, then any other."""
    place = text.rfind(cut.separator) if cut.separator else -1
    for _ in range(TRIED):
        before = text.rfind(cut.separator, 0, place) if place > 0 else -1
        if before < 0:
            break
        start = before + len(cut.separator) - 1
        if FIRST.match(text, place + len(cut.separator)) and _is_event(text[start : place + 1]):
            return place
        place = before
    found = list(BOUNDARY.finditer(text, max(0, len(text) - SEARCHED)))
    for last, other in zip(reversed(found), reversed(found[:-1]), strict=False):
        if _is_event(text[other.end() - 1 : last.start() + 1]):
            cut.separator = last[0]
            return last.start()
    if not found:
        return None
    cut.separator = found[-1][0]
    return found[-1].start()


def _is_event(text: bytes) -> bool:
    """Objects within the arguments of an event may be written like events, but have no time."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("ph"), str) and "ts" in found


def _rest(text: bytes, cut: Cut) -> Iterator[bytes]:
    """The last block, and what follows the array."""
    place = _last_boundary(text, cut)
    start = 0 if place is None else place + len(cut.separator) - 1
    end = _end_of_event(text, start)
    if end is None or END.match(text, end) is None:
        end = scan(text)
    found = END.match(text, end) if end is not None else None
    if end is None or found is None:
        # Not closed: what is there is given, and the last event may be cut in two.
        if text.strip():
            yield text.rstrip().rstrip(b",")
        return
    cut.closed = True
    cut.tail = text[found.end() :]
    if text[:end].strip():
        yield text[:end].rstrip().rstrip(b",")


def _end_of_event(text: bytes, start: int) -> int | None:
    """Where the event that begins at `start` ends."""
    try:
        words = text[start:].decode("utf-8", "surrogateescape")
        blank = len(words) - len(words.lstrip())
        end = json.JSONDecoder().raw_decode(words.lstrip())[1] + blank
        return start + len(words[:end].encode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None


TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
OPEN = frozenset(b"{[")


def scan(text: bytes) -> int | None:
    """Where the last event of the array of events ends when its closing bracket is in `text`."""
    depth = 0
    for token in TOKEN.finditer(text):
        first = text[token.start()]
        if first == 34:
            continue
        if first in OPEN:
            depth += 1
        elif depth:
            depth -= 1
        else:
            return len(text[: token.start()].rstrip().rstrip(b",")) if first == 93 else None
    return None
