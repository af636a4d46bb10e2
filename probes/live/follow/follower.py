"""Goes over all files of a job, turn by turn, so that none waits for another."""

from __future__ import annotations

import contextlib
import os
import resource
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from heapq import nlargest
from itertools import islice
from typing import TypeAlias

from probes.live.follow.model import Remark, Turn
from probes.live.follow.rotated import ROTATED, Identity, Stand, identity
from probes.live.follow.stream import Stream
from probes.live.follow.tail import Tail

EACH, TOGETHER = 1 << 20, 16 << 20
"""B read of a file, and of all, in one turn."""

LISTED = 1.0
"""Seconds between two looks for new files; more where a look takes long, for it to take a twentieth of the time."""

SHARE = 20
SLICE = 0.1
"""Seconds of a turn that may go into looking for files: a large tree is gone over in parts."""

MOST_FILES = 4096
"""Files that are followed at once; of more those that were written to last."""

MOST_LISTED, MOST_LEFT = 1_000_000, 16384
"""Files that are looked at, and those no longer followed of which it is remembered how far they were read."""

SPARE = 64
"""Descriptors that are left to everything else."""

FEW = 3
"""Remarks of one kind in a turn from which they become one."""

Listing: TypeAlias = Callable[[], Iterable[str]]
"""The paths to follow, as they are now; an empty one where there is none yet, for it may take long to the next."""

Apart: TypeAlias = Callable[[str, os.stat_result], bool]
"""Is this file one that pdoctor writes itself?"""


class Follower:
    """Follows what `listing` names but for what is `apart`, and `streams`. `clock` tells seconds, for how long a look
    took."""

    def __init__(
        self,
        listing: Listing,
        clock: Callable[[], float],
        streams: Iterable[Stream] = (),
        apart: Apart = lambda path, found: False,
    ) -> None:
        self._listing, self._clock, self._apart = listing, clock, apart
        self.followed: dict[str, Tail | Stream] = {stream.path: stream for stream in streams}
        self._next_look = float("-inf")
        self._looking: Generator[None, None, tuple[list[str], dict[str, int]]] | None = None
        self._spent = 0.0
        self._first = 0
        self._full = False
        self._sizes: dict[str, tuple[Identity, int]] = {}
        self._left: dict[Identity, Stand] = {}
        with contextlib.suppress(OSError, ValueError):
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            want = 2 * MOST_FILES + 2 * SPARE
            if soft < want:
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(want, hard), hard))
        self._most_open = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE

    def turn(self) -> Turn:
        """What is new since the last turn."""
        turn = Turn()
        at = self._clock()
        if self._looking is not None or at >= self._next_look:
            self._look(turn)
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
            before = one.open
            taken = one.read(turn, room, at)
            left -= taken
            turn.more = turn.more or taken >= room
            opened += one.open - before
            if opened > self._most_open and isinstance(one, Tail):
                before = one.open
                one.release()  # opened again in the next turn
                opened += one.open - before
        turn.remarks = list(_together(turn.remarks))
        return turn

    def add(self, path: str) -> Tail | Stream | None:
        """Follow `path` from now on; None where it is followed already, under this name or another."""
        return self._add(path, self._identities(), {})

    def _add(self, path: str, known: dict[Identity, str], done: dict[Identity, Stand]) -> Tail | Stream | None:
        if path in self.followed:
            return None
        stand = None
        with contextlib.suppress(OSError):
            found = os.stat(path)
            key = identity(found)
            if self._apart(path, found) or known.setdefault(key, path) != path:
                return None
            if stat.S_ISFIFO(found.st_mode):
                self.followed[path] = Stream.fifo(path)
                return self.followed[path]
            stand = done.get(key) or self._left.pop(key, None)
            base = self.followed.get(ROTATED.sub("", path)) if ROTATED.search(path) else None
            if isinstance(base, Tail) and (key in base.done or not self._grows(path, key, found.st_size)):
                return None
        tail = self.followed[path] = Tail(path, stand)
        return tail

    def _grows(self, path: str, key: Identity, size: int) -> bool:
        """Is the file written to, though its name is that of a rotated one? Then it is the log of another rank, or of
        a program that was not told of the rotation."""
        before = self._sizes.get(path)
        if len(self._sizes) < MOST_FILES or before is not None:
            self._sizes[path] = key, size
        return before is not None and before[0] == key and before[1] < size

    def _identities(self) -> dict[Identity, str]:
        """The files that are open, which may lie under several names. The number of a closed one may be used again."""
        return {key: one.path for one in self.followed.values() for key in one.keys}

    def close(self) -> None:
        for one in self.followed.values():
            one.close()

    def _look(self, turn: Turn) -> None:
        """Goes on with looking for files, and follows those that are new when all were seen."""
        begun = self._clock()
        if self._looking is None:
            self._looking, self._spent = self._seen(), 0.0
        try:
            while not self.followed or self._clock() - begun <= SLICE:  # at first there is nothing else to do
                next(self._looking)
        except StopIteration as done:
            self._looking = None
            paths, changed = done.value
            self._take(paths, changed, turn)
        self._spent += self._clock() - begun
        self._next_look = self._clock() + max(LISTED, SHARE * self._spent)

    def _seen(self) -> Generator[None, None, tuple[list[str], dict[str, int]]]:
        """The paths that are to be followed; when each was changed, if they are too many."""
        paths: list[str] = []
        for path in islice(self._listing(), MOST_LISTED):
            if path:
                paths.append(path)
            yield
        changed: dict[str, int] = {}
        if len({*paths, *self.followed}) > MOST_FILES:
            for path in paths:
                changed[path] = _changed(path)
                yield
        return paths, changed

    def _take(self, paths: list[str], changed: dict[str, int], turn: Turn) -> None:
        self._settle()
        new = [path for path in paths if path not in self.followed]
        if not new:
            return
        if changed:
            new = self._latest(paths, changed, turn)
        tails = [one for one in self.followed.values() if isinstance(one, Tail)]
        done = {key: stand for tail in tails for key, stand in tail.done.items()}
        known = self._identities()
        for path in new:
            self._add(path, known, done)

    def _settle(self) -> None:
        """What was waited for under a name may have come as a folder, whose files are listed now, or as a FIFO."""
        for path in [path for path, one in self.followed.items() if isinstance(one, Tail) and one.waits]:
            with contextlib.suppress(OSError):
                mode = os.stat(path).st_mode
                if stat.S_ISDIR(mode):
                    del self.followed[path]
                elif stat.S_ISFIFO(mode):
                    self.followed[path] = Stream.fifo(path)

    def _latest(self, paths: list[str], changed: dict[str, int], turn: Turn) -> list[str]:
        """Room for the files that were written to last; what was read of the others is remembered."""
        tails = [path for path, one in self.followed.items() if isinstance(one, Tail)]
        if not self._full:
            turn.remarks.append(Remark("follow.too_many", paths[0], str(MOST_FILES)))
            self._full = True
        changed.update({path: _changed(path) for path in tails if path not in changed})
        kept = set(nlargest(MOST_FILES, changed, key=lambda path: (changed[path], path)))
        for path in tails:
            if path in kept:
                continue
            one = self.followed.pop(path)
            if isinstance(one, Tail):
                one.close()
                if one.stand is not None:
                    self._left[one.key] = one.stand
        while len(self._left) > MOST_LEFT:
            del self._left[next(iter(self._left))]
        return [path for path in paths if path in kept and path not in self.followed]


def _changed(path: str) -> int:
    """When it was written to last (ns), below zero where it is not there."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1


def _together(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """One remark where many files have the same to be said of them, as when their folder is unmounted."""
    kinds: dict[tuple[str, str], list[Remark]] = {}
    for remark in remarks:
        kinds.setdefault((remark.key, "" if remark.key == "follow.skipped" else remark.reason), []).append(remark)
    for same in kinds.values():
        if len(same) > FEW:
            yield Remark(same[0].key, same[0].path, same[0].reason, len(same) - 1)
        else:
            yield from same
