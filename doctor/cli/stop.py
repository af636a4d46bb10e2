"""What is ended from outside ends in order: Ctrl-C, SIGTERM, and a terminal that is closed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Stop:
    """`asked` once somebody said so."""

    asked: bool = False
    _act: Callable[[], object] | None = None

    def then(self, act: Callable[[], object]) -> None:
        """What is done then, in place of what was to be done before; at once where it was asked by now."""
        self._act = act
        if self.asked:
            act()

    def heard(self, number: int, frame: object = None) -> None:
        """Takes a signal. Only a second Ctrl-C is impatience: of a terminal that is closed both the kernel and the
        shell send SIGHUP, and launchers send SIGTERM to a process and to its group."""
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True
        if self._act is not None:
            self._act()


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Ctrl-C, SIGTERM and SIGHUP are taken note of within; a second Ctrl-C ends everything."""
    stop = Stop()
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores one
    before = {number: signal.signal(number, stop.heard) for number in heeded}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
