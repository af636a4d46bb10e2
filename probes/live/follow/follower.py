"""Goes over all files of a job, turn by turn, so that none waits for another."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import stat
from collections.abc import Callable, Iterable
from typing import TypeAlias

from probes.live.follow.model import Remark, Turn
from probes.live.follow.stream import Stream
from probes.live.follow.tail import Tail

EACH, TOGETHER = 1 << 20, 16 << 20
"""B read of a file, and of all, in one turn."""

LISTED = 1.0
"""Seconds between two looks for new files; more where a look takes long, for it to take a twentieth of the time."""

SHARE = 20
MOST_FILES = 4096
SPARE = 64
"""Descriptors that are left to everything else."""

ROTATED = re.compile(r"[.-](?:\d{1,4}|\d{8}(?:[-_T]\d{2,6})?|\d{4}-\d\d-\d\d\S*)$")
"""What logrotate and Python's handlers put after the name of a file that was full."""

Listing: TypeAlias = Callable[[], Iterable[str]]
"""The paths to follow, as they are now."""


class Follower:
    """Follows what `listing` names, and `streams`. `clock` tells seconds, for how long a look took."""

    def __init__(self, listing: Listing, clock: Callable[[], float], streams: Iterable[Stream] = ()) -> None:
        self._listing, self._clock = listing, clock
        self.followed: dict[str, Tail | Stream] = {stream.path: stream for stream in streams}
        self._next_look = float("-inf")
        self._first = 0
        self._full = False
        with contextlib.suppress(OSError, ValueError):
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            want = MOST_FILES + 2 * SPARE
            if soft < want:
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(want, hard), hard))
        self._most_open = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE

    def turn(self) -> Turn:
        """What is new since the last turn."""
        turn = Turn()
        at = self._clock()
        if at >= self._next_look:
            self._look(turn)
            done = self._clock()
            self._next_look = done + max(LISTED, SHARE * (done - at))
        order = list(self.followed.values())
        self._first %= max(1, len(order))
        left = TOGETHER
        opened = sum(one.open for one in order)
        for position, one in enumerate(order[self._first :] + order[: self._first]):
            if left <= 0:
                self._first += position
                turn.more = True
                break
            room = min(EACH, left)
            was_open = one.open
            taken = one.read(turn, room, at)
            left -= taken
            turn.more = turn.more or taken >= room
            if one.open and not was_open:
                opened += 1
                if opened > self._most_open and isinstance(one, Tail):
                    one.close()  # opened again in the next turn
                    opened -= 1
        return turn

    def add(self, path: str) -> Tail | Stream | None:
        """Follow `path` from now on; None where it is followed already, under this name or another."""
        return self._add(path, self._identities())

    def _add(self, path: str, known: dict[tuple[int, int], str]) -> Tail | Stream | None:
        if path in self.followed or ROTATED.sub("", path) in self.followed:
            return None
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if known.setdefault((found.st_dev, found.st_ino), path) != path:
                return None
            if stat.S_ISFIFO(found.st_mode):
                self.followed[path] = Stream.fifo(path)
                return self.followed[path]
        self.followed[path] = Tail(path)
        return self.followed[path]

    def _identities(self) -> dict[tuple[int, int], str]:
        """The files that are open, which may lie under several names. The number of a closed one may be used again."""
        return {(one.device, one.inode): one.path for one in self.followed.values() if one.open}

    def close(self) -> None:
        for one in self.followed.values():
            one.close()

    def _look(self, turn: Turn) -> None:
        known = self._identities()
        for path in self._listing():
            if len(self.followed) >= MOST_FILES:
                if not self._full:
                    turn.remarks.append(Remark("follow.too_many", path, str(MOST_FILES)))
                self._full = True
                return
            self._add(path, known)
