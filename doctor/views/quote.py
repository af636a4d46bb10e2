"""Long log lines cut to what matters: the part that was matched stays, the rest becomes an ellipsis."""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.views.safe import visible

LEAD = 24
"""Characters kept before the match, so that a reader sees what kind of line it is."""


def excerpt(text: str, room: int, patterns: Iterable[str] = ()) -> str:
    """`text` made safe, in at most `room` characters around the first of `patterns` that is found in it."""
    shown = visible(text.strip())
    if len(shown) <= room:
        return shown
    start = _match_start(text.strip(), patterns)
    # Escapes make what stands before the match longer; the match is looked up in the text as it is shown.
    start = len(visible(text.strip()[:start]))
    begin = 0 if start <= max(LEAD, room // 4) else min(start - LEAD, len(shown) - room + 1)
    if begin:  # a cut in the middle of a word is hard to read
        space = shown.find(" ", begin, min(start, begin + LEAD))
        begin = space + 1 if space >= 0 else begin
    head, tail = ("…" if begin else ""), ("…" if begin + room < len(shown) else "")
    return head + shown[begin : begin + room - len(head) - len(tail)] + tail


def _match_start(text: str, patterns: Iterable[str]) -> int:
    for pattern in patterns:
        try:
            found = re.search(pattern, text)
        except re.error:
            continue
        if found:
            return found.start()
    return 0
