"""What `pdoctor attach` says on a terminal or into files while it watches."""

from __future__ import annotations

import errno
import os
import select
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from doctor.cli import options
from doctor.messages import say
from doctor.session.notes import Note
from doctor.session.watch.trouble import Trouble

if TYPE_CHECKING:
    from doctor.session.watch.follow import Following
    from doctor.session.watch.model import Announcement
    from doctor.session.watch.watch import Watch

MINUTE = 60.0

MOST_NOTES = 1000
"""Remarks that may wait to be shown."""

FULL = (errno.ENOSPC, errno.EDQUOT)


class Screen:
    """Findings to stdout; how the job stands to stderr: one line that stays in place, or one a minute.

    `gone` when nobody reads stdout any more: the terminal was closed, or the program at the other end of the pipe. A
    full disk is said and waited for.
    """

    def __init__(self, lang: str, color: bool, hushed: bool) -> None:
        self._lang, self._color, self._hushed = lang, color, hushed
        self._live = sys.stderr.isatty()
        self._shown_at = float("-inf")
        self._standing = False
        self._notes: deque[Note] = deque(maxlen=MOST_NOTES)
        self._trouble = Trouble(Path("stdout"), self.hear)
        self.gone = False

    def hear(self, note: Note) -> None:
        """Takes a remark, from any thread; it is shown with the next turn."""
        self._notes.append(note)

    def heard(self) -> list[Note]:
        """The remarks that were not shown yet; they are shown elsewhere."""
        return [self._notes.popleft() for _ in range(len(self._notes))]

    def begin(self, following: Following, named: list[str]) -> None:
        if self._hushed:
            return
        with self._onto(sys.stderr):
            options.note(say(self._lang, "watch.begins", what=", ".join(named)))
            for path in following.waiting:
                options.note(say(self._lang, "watch.waiting", path=path))

    def show(self, watch: Watch, said: list[Announcement], noted: list[Note]) -> None:
        notes = [*noted, *self.heard()]
        with self._onto(sys.stderr):
            if said or (notes and not self._hushed):
                self._clear()
            for note in notes if not self._hushed else ():
                from doctor.views import present

                options.note(present.note_text(note, self._lang))
        if said:
            with self._onto(sys.stdout):
                self._tell(said)
        with self._onto(sys.stderr):
            self._stands(watch)
        self.gone = self.gone or _unread()

    def _tell(self, said: list[Announcement]) -> None:
        from doctor.views.watch_text import announce

        for one in said:
            announce(one, self._lang).print(sys.stdout, self._color)
        sys.stdout.flush()

    def _stands(self, watch: Watch) -> None:
        from doctor.views.watch_text import status_line

        now = time.monotonic()
        if self._hushed or now - self._shown_at < (1.0 if self._live else MINUTE):
            return
        self._shown_at = now
        line = status_line(watch.status(), self._lang)
        if self._live:
            from doctor.views.page import Page

            width = Page().width
            print(f"\r\x1b[K{_cut(line, width)}", end="", file=sys.stderr, flush=True)
            self._standing = True
        elif watch.heard_at is not None:
            options.note(line)

    def ended(self, how: str) -> None:
        """Says how the watch came to its end."""
        if self._hushed:
            return
        with self._onto(sys.stderr):
            self._clear()
            options.note(say(self._lang, f"watch.end.{how}"))

    def summary(self, watch: Watch) -> None:
        from doctor.views import present
        from doctor.views.text import print_report

        with self._onto(sys.stderr):
            self._clear()
        assert watch.report is not None
        with self._onto(sys.stdout):
            print()
            for episode in watch.episodes:
                what = present.headline(episode.report, self._lang)
                print(say(self._lang, "watch.episode_was", n=episode.attempt, what=what))
            print_report(watch.report, sys.stdout, self._lang, color=self._color)
            sys.stdout.flush()

    def _clear(self) -> None:
        if self._standing:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._standing, self._shown_at = False, self._shown_at if not self._live else float("-inf")

    @contextmanager
    def _onto(self, stream: TextIO) -> Iterator[None]:
        """What is written within may fail: the watch is not over for that, and what it keeps is kept."""
        try:
            yield
            if stream is sys.stdout:
                self._trouble.set("")
        except (OSError, SystemExit) as error:  # rich ends a program whose reader has gone
            if isinstance(error, OSError) and error.errno in FULL:
                self._trouble.set(error.strerror or str(error))
                return
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
            self.gone = self.gone or stream is sys.stdout


def _unread() -> bool:
    """Has the program that read stdout, as in `| head`, gone?"""
    try:
        poll = select.poll()
        poll.register(sys.stdout, 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (OSError, ValueError):
        return False


def _cut(line: str, width: int) -> str:
    from rich.cells import set_cell_size
    from rich.text import Text

    return line if Text(line).cell_len < width else set_cell_size(line, width - 1)
