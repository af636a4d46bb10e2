"""One file that is written to: read on, through rotation, truncation and loss."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Iterator

from probes.live.follow.model import Piece, Remark, Turn
from probes.live.follow.part import FLAGS, Part
from probes.live.follow.rotated import Identity, Stand, identity, missed, siblings

WHOLE, HEAD, LAST = 64 << 20, 1 << 20, 16 << 20
"""A file that is longer than WHOLE when it is first seen is read in its first HEAD and its LAST bytes."""

GONE = 5.0
"""Seconds after which a file that was taken away is said to be gone; a rotation takes less."""

RETRY = 2.0
PATIENCE = 60.0
"""Seconds for which a rotated file that cannot be read holds up the one after it."""

REMEMBERED, MOST_BEHIND = 32, 64
"""Files that were read under the path and are known again, and rotated ones that are open at once."""

QUIET = (FileNotFoundError, NotADirectoryError)


class Tail:
    """The file at `path`. `offset`, `device` and `inode` say where reading stands; `at` is given in seconds.

    What was rotated away is read to its end before the file that has taken its place, also what is written into it
    after that: programs that were not told of the rotation go on with it.
    """

    def __init__(self, path: str, stand: Stand | None = None) -> None:
        """`stand` if the file was read under another name before."""
        self.path = path
        self.offset, self.device, self.inode = 0, 0, 0
        self.done: dict[Identity, Stand] = {}
        self._part: Part | None = None
        self._behind: deque[Part] = deque()
        self._late: Part | None = None
        self._stand = stand
        self._known = self._begun = self._emptied = self._unseen = False
        self._needed: int | None = None
        self._said = ""
        self._missing_since: float | None = None
        self._next_try = 0.0
        self._skip: tuple[int, int] | None = None
        self._next: Identity | None = None
        if stand is not None:
            (self.device, self.inode), self.offset = stand.key, stand.offset

    @property
    def open(self) -> int:
        """How many descriptors it holds."""
        return (self._part is not None) + len(self._behind) + (self._late is not None)

    @property
    def waits(self) -> bool:
        """Was there no file at the path so far?"""
        return not self._begun

    @property
    def key(self) -> Identity:
        return self.device, self.inode

    @property
    def keys(self) -> Iterator[Identity]:
        """The files that are read here: the one at the path, and those that were there before and are open."""
        if self._part is not None:
            yield self.key
        for part in (*self._behind, *([self._late] if self._late is not None else [])):
            yield part.key

    @property
    def stand(self) -> Stand | None:
        """How far the file at the path was read, None before it was opened."""
        return self._part.stand(self.key) if self._part is not None else self._stand

    def go_on(self, device: int, inode: int, offset: int) -> None:
        """The file was read up to `offset` before, and may lie under another name by now: it is read once more, since
        what it says belongs to what comes, and all that comes after `offset` is read in any case."""
        self.device, self.inode, self._known, self._needed = device, inode, True, offset

    def close(self) -> None:
        self._let_go()
        while self._behind:
            self._behind.popleft().close()

    def release(self) -> None:
        """Gives back what it can of its descriptors; the file is opened again when it is next read."""
        if not self._behind:
            self._let_go()

    def read(self, turn: Turn, room: int, at: float) -> int:
        """Adds what is new, up to `room` bytes, to `turn`; how much that is."""
        taken = self._read_behind(turn, room, at)
        if taken >= room or self._behind or (self._part is None and (at < self._next_try or not self._open(turn, at))):
            return taken
        try:
            taken += self._read(turn, room - taken, at)
            if taken:
                self._back("follow.unreadable")
            if taken < room:
                self._look(turn, at)
        except OSError as error:
            self._lost(turn, error, at)
        return taken

    def _open(self, turn: Turn, at: float) -> bool:
        self._next_try = at + RETRY * bool(self._said)
        where = self._where()
        try:
            mode = os.stat(where).st_mode
            if not self._begun and (stat.S_ISDIR(mode) or stat.S_ISFIFO(mode)):
                return False  # what was waited for is no file: the next look for files takes it as what it is
            if not stat.S_ISREG(mode):  # opening a device or a pipe may do something
                raise OSError(0, "not a regular file")
            part = Part(os.open(where, FLAGS))
        except OSError as error:
            self._lost(turn, error, at)
            return False
        found = part.look()
        same = identity(found) == self.key
        before, self._stand = self._stand, None
        if same and before is not None:
            part.offset, part.last, part.changed = before.offset, before.last, before.changed
            part.recall()
        elif self._begun:
            part.cut()
            if before is not None:
                self._rotated(turn, before, {identity(found)})
        if not self._begun and not part.offset and found.st_size > WHOLE:
            end = min(found.st_size - LAST, self._needed if same and self._needed is not None else found.st_size)
            self._skip = (HEAD, end) if end > HEAD else None
        part.grown_at = at
        self._part, (self.device, self.inode), self.offset = part, identity(found), part.offset
        self._begun, self._missing_since = True, None
        self._back("follow.gone")
        return True

    def _where(self) -> str:
        """The path, or that of the file which was being read when it was renamed while nobody followed."""
        if not self._known or self._begun:
            return self.path
        with contextlib.suppress(OSError):
            if identity(os.stat(self.path)) == self.key:
                return self.path
        return next((path for path, found in siblings(self.path) if identity(found) == self.key), self.path)

    def _read(self, turn: Turn, room: int, at: float) -> int:
        part = self._part
        assert part is not None
        found = part.look()
        written = bool(part.changed) and found.st_mtime_ns != part.changed
        began_empty = not part.offset and written and (self._emptied or not found.st_size)
        if part.is_cut(found) or began_empty:
            self._emptied = True
            self._rotated(turn, part.stand(self.key), {self.key}, was_cut=True)
            if not began_empty:
                part.cut()
        part.changed = found.st_mtime_ns
        if self._behind:
            turn.more = True  # what the file held before it was cut comes first
            return 0
        taken = 0
        while taken < room and part.offset < found.st_size:
            if self._skip and part.offset >= self._skip[0]:
                turn.remarks.append(Remark("follow.skipped", self.path, f"{self._skip[1] - part.offset:,}"))
                part.offset, self._skip, part.last, part.anew = self._skip[1], None, b"", True
            data = part.read(found, room - taken)
            if not data:
                break
            turn.pieces.append(Piece(self.path, data, part.anew))
            part.anew = False
            part.grown_at = at
            taken += len(data)
        self.offset = part.offset
        return taken + self._read_late(turn, room - taken, at)

    def _read_behind(self, turn: Turn, room: int, at: float) -> int:
        """What rotated files hold that nobody has read yet, oldest first."""
        taken = 0
        while self._behind and taken < room:
            part = self._behind[0]
            try:
                data = part.rest(room - taken)
            except OSError as error:
                self._say_unreadable(turn, error)
                part.failed_at = at if part.failed_at is None else part.failed_at
                if at - part.failed_at < PATIENCE:
                    break
                data = b""
            if data:
                turn.pieces.append(Piece(self.path, data, part.anew))
                part.anew = False
                taken += len(data)
                continue
            self._remember(part.stand(part.key))
            self._finish_late(turn)
            self._late = self._behind.popleft()
        return taken

    def _read_late(self, turn: Turn, room: int, at: float) -> int:
        """Whole lines that are written into the file before, between those of this one."""
        late, part = self._late, self._part
        if late is None or part is None or room <= 0 or (part.offset and not part.last.endswith(b"\n")):
            return 0
        found = late.look()
        if found.st_size <= late.offset or late.is_cut(found):
            if found.st_nlink == 0 and at - late.grown_at >= GONE:
                self._finish_late()
            return 0
        taken = 0
        while taken < room and (data := late.read_lines(found, room - taken)):
            turn.pieces.append(Piece(self.path, data))
            taken += len(data)
        late.changed, late.grown_at = found.st_mtime_ns, at
        return taken

    def _look(self, turn: Turn, at: float) -> None:
        """Is the file at the path still the one that is open? If it was replaced, go over to the new one."""
        part = self._part
        assert part is not None
        try:
            now = os.stat(self.path)
        except QUIET:
            self._missing(turn, at)
            return
        except OSError as error:
            if not self._unseen:
                turn.remarks.append(Remark("follow.unreadable", self.path, error.strerror or type(error).__name__))
            self._unseen = True  # what is open can be read on
            return
        if not stat.S_ISREG(now.st_mode):
            self._missing(turn, at)
            return
        self._missing_since, self._unseen = None, False
        self._back("follow.gone")
        if identity(now) == self.key:
            return
        own = part.look()
        if own.st_size > part.offset:
            turn.more = True  # written since it was read: the new one comes after it
            return
        part.changed = own.st_mtime_ns
        if identity(now) != self._next:
            self._next = identity(now)
            self._rotated(turn, part.stand(self.key), {self.key, identity(now)})
        held = own.st_nlink > 0 or at - part.grown_at < GONE
        if now.st_size == 0 and held and not self._behind:
            return  # its writer may go on with the old one until it opens the new one, or for ever
        self._go_over(turn, part)
        self._open(turn, at)
        turn.more = True

    def _go_over(self, turn: Turn, part: Part) -> None:
        """Another file has the path; `part` is kept, for what is still written into it."""
        self._remember(part.stand(self.key))
        self._finish_late(turn)
        self._late, self._part = part, None

    def _rotated(self, turn: Turn, stand: Stand, known: set[Identity], was_cut: bool = False) -> None:
        """Opens what came and went while nobody looked; what is open already is read on as it is."""
        for path, start in missed(self.path, stand, self.done, known.union(self.keys), was_cut)[-MOST_BEHIND:]:
            try:
                part = Part.behind(path, start)
            except OSError as error:
                turn.remarks.append(Remark("follow.unreadable", path, error.strerror or str(error)))
                continue
            if part is not None:
                self._behind.append(part)

    def _missing(self, turn: Turn, at: float) -> None:
        if self._missing_since is None:
            self._missing_since = at
        elif at - self._missing_since >= GONE:
            if self._said != "follow.gone":
                self._said = "follow.gone"
                turn.remarks.append(Remark(self._said, self.path))
            part = self._part
            if part is not None and at - part.grown_at >= GONE and part.look().st_nlink == 0:
                self._let_go()  # its room on the disk is free again
                self._next_try = at + RETRY

    def _lost(self, turn: Turn, error: OSError, at: float) -> None:
        self._let_go()
        self._next_try = at + (RETRY if self._begun or not isinstance(error, QUIET) else 0.0)
        if isinstance(error, QUIET):
            if self._begun:
                self._missing(turn, at)
            return
        self._say_unreadable(turn, error)

    def _back(self, trouble: str) -> None:
        """A trouble is over: it is said again when it comes again."""
        if self._said == trouble:
            self._said = ""

    def _say_unreadable(self, turn: Turn, error: OSError) -> None:
        if self._said != "follow.unreadable":
            self._said = "follow.unreadable"
            turn.remarks.append(Remark(self._said, self.path, error.strerror or type(error).__name__))

    def _let_go(self) -> None:
        if self._part is not None:
            self._stand = self._part.stand(self.key)
            self._part.close()
            self._part = None
        self._finish_late()

    def _finish_late(self, turn: Turn | None = None) -> None:
        """The file before is no longer looked at, after what has come into it until now."""
        if self._late is not None:
            with contextlib.suppress(OSError):
                found = self._late.look()
                if turn is not None and found.st_size > self._late.offset and not self._late.is_cut(found):
                    while data := self._late.read(found, found.st_size):
                        turn.pieces.append(Piece(self.path, data))
                self._remember(self._late.stand(self._late.key))
            self._late.close()
            self._late = None

    def _remember(self, stand: Stand) -> None:
        self.done.pop(stand.key, None)
        self.done[stand.key] = stand
        if len(self.done) > REMEMBERED:
            del self.done[next(iter(self.done))]
