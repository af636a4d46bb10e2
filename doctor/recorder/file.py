"""The file of one rank: lines of JSON that a thread writes, so that a slow or full disk never holds up a step."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

Line = dict[str, Any]

MOST = 64 << 20
"""Bytes a file may have; a line has some 250, so the first 100,000 steps are told one by one."""
THINNING = ((0.5, 1), (0.75, 10), (0.9, 100), (1.0, 1000))
"""Of so many steps one is written, until so much of the file is full."""
WAITING = 10_000
"""Lines that may wait for the disk; what comes beyond is lost and counted."""
PAUSE = 0.5
LAST = 2.0
"""Seconds between two writes, and seconds that the end of the program waits for the last one."""


class RecordFile:
    """Lines that are put are written within half a second; `broken` is told the first error, and nothing follows it.

    `begun` is called by the thread that writes, once the file is there.
    """

    def __init__(
        self, path: str, broken: Callable[[Exception], None], most: int = MOST, begun: Callable[[], None] | None = None
    ) -> None:
        self.path, self.most, self._broken, self._begun = path, most, broken, begun
        self._lines: deque[Line] = deque()
        self._lost = 0
        self._size = 0
        self._wake = threading.Event()
        self._end = False
        self._thread: threading.Thread | None = None

    def put(self, line: Line) -> None:
        """Never waits, and does not look at what is in the line until the thread writes it."""
        if len(self._lines) >= WAITING:
            self._lost += 1
            return
        self._lines.append(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="pdoctor recorder", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Writes what waits, as far as the disk takes it in two seconds."""
        self._end = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LAST)

    def _work(self) -> None:
        try:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            with open(self.path, "ab", buffering=0) as file:
                self._size = os.fstat(file.fileno()).st_size
                if self._size and not _ends_a_line(self.path):
                    file.write(b"\n")  # the process that wrote here before was killed within a line
                if self._begun is not None:
                    self._begun()
                while not self._end:
                    self._drain(file.write)
                    self._wake.wait(PAUSE)
                self._drain(file.write)
        except Exception as error:
            self._lines.clear()
            self._end = True
            self._broken(error)

    def _drain(self, write: Callable[[bytes], Any]) -> None:
        while self._lines:
            line = self._lines.popleft()
            if self._kept(line):
                self._write(write, line)
        if self._lost:
            lost, self._lost = self._lost, 0
            self._write(write, {"record": "lost", "lines": lost})

    def _kept(self, line: Line) -> bool:
        number = line.get("step")
        full = self._size / self.most
        stride = next((stride for share, stride in THINNING if full < share), 0)
        return bool(stride) and (not isinstance(number, int) or number % stride == 0)

    def _write(self, write: Callable[[bytes], Any], line: Line) -> None:
        """One line, whole; a raw file may take it in parts."""
        rest = memoryview(json.dumps(line, separators=(",", ":"), default=str).encode() + b"\n")
        self._size += len(rest)
        while rest:
            rest = rest[write(rest) :]  # type: ignore[arg-type]


def _ends_a_line(path: str) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
