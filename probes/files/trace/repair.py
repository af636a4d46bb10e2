"""Reads what can be read of damaged events, one by one, as profilers of several years have written them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from probes.files.trace.schema import Complete, Instant, decoder, lenient
from probes.files.trace.split import BOUNDARY

CONTROLS = bytes.maketrans(bytes(range(32)), b" " * 32)
BACKSLASH = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
NO_NUMBER = re.compile(
    rb"(:\s*|\[\s*|,\s*)(?:[-+]?(?:inf(?:inity)?|nan(?:\([^)]*\))?)|N/A)(?=\s*[,}\]])", re.IGNORECASE
)
NAME = re.compile(
    rb'("name"\s*:\s*")(?P<name>.*?)("\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|args|s|id|bp)"\s*:|\}\s*$))', re.DOTALL
)
LONGEST_JOIN = 8
"""A cut may fall inside the arguments of an event; so many pieces are tried as one."""


def mended(text: bytes) -> bytes:
    """`text` with what JSON forbids and profilers wrote: control characters, lone backslashes, inf, nan, N/A, bytes
    that are not UTF-8."""
    text = text.translate(CONTROLS)
    text = BACKSLASH.sub(rb"\\\\", text)
    text = NO_NUMBER.sub(rb"\1null", text)
    return text.decode("utf-8", "replace").encode()


def one_by_one(text: bytes, precise: bool) -> Iterator[Complete | Instant | None]:
    """The events of `text`; None stands for one that cannot be read."""
    starts = [0, *(found.end() - 1 for found in BOUNDARY.finditer(text))]
    ends = [*(found.start() + 1 for found in BOUNDARY.finditer(text)), len(text)]
    place = 0
    while place < len(starts):
        event = _event(text[starts[place] : ends[place]], precise)
        length = 1
        while event is False and length < LONGEST_JOIN and place + length < len(starts):
            piece = text[starts[place] : ends[place + length - 1]]
            if piece.count(b"{") <= piece.count(b"}"):
                break  # nothing is open that what follows could close
            length += 1
            event = _event(text[starts[place] : ends[place + length - 1]], precise)
        place += length if event is not False else 1
        if event is not True:
            yield event or None


def _event(piece: bytes, precise: bool) -> Complete | Instant | bool:
    """The event; True for one that is not needed, False for text that is none."""
    for mend in (bytes, mended, _requoted):
        text = mend(piece)
        try:
            (event,) = decoder(precise).decode(b"[" + text + b"]")
            return event if isinstance(event, Complete | Instant) else True
        except (ValueError, RecursionError):  # also the errors of msgspec
            pass
        try:
            entry: Any = msgspec.json.decode(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(entry, dict):
            return False
        if entry.get("ph") != "X":
            return True
        return lenient(entry, precise) or False
    return False


def _requoted(piece: bytes) -> bytes:
    """Escapes quotation marks in a name that the writer did not (pytorch#146900)."""

    def escape(found: re.Match[bytes]) -> bytes:
        return found[1] + re.sub(rb'(?<!\\)"', rb"\\" + b'"', found["name"]) + found[3]

    return mended(NAME.sub(escape, piece, count=1))
