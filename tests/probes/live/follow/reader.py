"""Follows with a clock of its own, which moves by a second a turn."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from probes.live.follow import Files, Follower, Turn
from probes.live.follow.stream import Stream


class Reader:
    """`remarks` are what was said of files so far, by key and name."""

    def __init__(self, *names: str, streams: Iterable[Stream] = ()) -> None:
        self.now = time.time()
        self.follower = Follower(Files(names), lambda: self.now, streams)
        self.remarks: list[tuple[str, str]] = []

    def turn(self) -> Turn:
        self.now += 1.0
        turn = self.follower.turn()
        self.remarks += [(remark.key, os.path.basename(remark.path)) for remark in turn.remarks]
        return turn

    def read(self, turns: int = 1) -> bytes:
        return b"".join(piece.data for _ in range(turns) for piece in self.turn().pieces)


def add(path: Path, text: bytes) -> None:
    """Writes more to a log."""
    with path.open("ab") as file:
        file.write(text)
