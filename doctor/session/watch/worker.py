"""Work that may take long, in a thread of its own: handed over without waiting, in order, one piece at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

LIMIT = 64
"""Pieces that may wait; what comes when as many do is left out and counted."""


class Worker:
    """Runs `act` on each text that is offered; it gives back whether that is done with, and must not raise.

    Once `stopping` is set it should end soon, with False where it was not done: then the text stays pending.
    """

    def __init__(self, name: str, act: Callable[[str], bool], limit: int = LIMIT) -> None:
        self._act, self._limit = act, limit
        self._waiting: deque[str] = deque()
        self._current: str | None = None
        self._changed = threading.Condition()
        self._closed = False
        self.stopping = threading.Event()
        self.left_out = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def offer(self, text: str) -> bool:
        """Takes `text` on; False where too much is waiting and it was left out."""
        with self._changed:
            if self._closed or len(self._waiting) >= self._limit:
                self.left_out += 1
                return False
            self._waiting.append(text)
            self._changed.notify_all()
            return True

    def pending(self) -> Sequence[str]:
        """What was taken on and is not done, the piece at work first."""
        with self._changed:
            return [*([] if self._current is None else [self._current]), *self._waiting]

    def close(self, seconds: float) -> int:
        """Waits up to `seconds` for what is pending, then has it stop; gives back how many pieces were not done."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)
        self.stopping.set()
        self._thread.join(1.0)
        return len(self.pending())

    def wait(self, seconds: float) -> bool:
        """Waits until nothing is pending; False where that takes longer than `seconds`."""
        end = time.monotonic() + seconds
        with self._changed:
            while self._waiting or self._current is not None:
                if not self._changed.wait(max(end - time.monotonic(), 0.0)) and time.monotonic() >= end:
                    return False
        return True

    def _work(self) -> None:
        while (text := self._next()) is not None:
            done = self._act(text)
            with self._changed:
                if done or not self.stopping.is_set():
                    self._current = None
                self._changed.notify_all()

    def _next(self) -> str | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if not self._waiting or self.stopping.is_set():
                return None
            self._current = self._waiting.popleft()
            return self._current
