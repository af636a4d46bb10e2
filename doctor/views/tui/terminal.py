"""The terminal of the interface, which may be taken away: a window is closed, a connection breaks."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any, cast

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from doctor.views.tui.app import PdoctorApp


class Terminal(LinuxDriver):
    """Where nothing can be written any more, the walk is over. What is drawn to nobody is let go, since the thread that
    writes must not die of it: the interface would wait for it for ever."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._file = cast(Any, Lasting(cast(IO[str], self._file), self._app))


class Lasting:
    """What is drawn on, as far as it is there."""

    def __init__(self, file: IO[str], app: Any) -> None:
        self._file, self._app = file, app

    def write(self, text: str) -> None:
        self._try(partial(self._file.write, text))

    def flush(self) -> None:
        self._try(self._file.flush)

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        return self._file.fileno()

    def _try(self, act: Any) -> None:
        try:
            act()
        except OSError:
            cast("PdoctorApp", self._app).leave()


def let_go() -> None:
    """Puts /dev/null in the place of a terminal that is gone: reading it would give its end again and again, and what
    Python still holds for it would be a failure at the very end."""
    for number in (0, 1, 2):
        if _gone(number):
            with suppress(OSError):
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, number)
                os.close(nowhere)


def _gone(number: int) -> bool:
    poll = select.poll()
    poll.register(number, 0)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
