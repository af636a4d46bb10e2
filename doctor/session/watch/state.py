"""What outlives pdoctor: where reading stands, what was said, and what is still owed to programs and receivers.

The file is replaced as a whole, at most once a second and whenever something new is said. It holds no whole logs, only
what the readers keep of them.
"""

from __future__ import annotations

import math
import os
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import msgspec

from doctor.engine.model import Label
from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.watch.model import Kept, Mark, Told
from doctor.session.watch.resume import PRINT
from doctor.session.watch.trouble import Trouble
from doctor.session.written import replace_file

KIND = b"pdoctor attach state "
MAGIC = KIND + b"2\n"
DIGEST = 32
"""Bytes of the hash that follows: a state of which a bit was turned would say wrong things."""

EVERY = 1.0
LARGEST = 1 << 28
LATEST = 1 << 33
"""Seconds since the epoch that a time may be: in the year 2242."""


@dataclass(frozen=True, slots=True)
class Stored:
    """`owed` are documents by outlet (on-finding, webhook, jsonl) that were taken on and not done; `targets` what was
    named to be watched."""

    kept: Kept = field(default_factory=Kept)
    targets: tuple[str, ...] = ()
    owed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def to_bytes(stored: Stored) -> bytes:
    content = msgspec.msgpack.encode(_named(stored, _kept_name))
    return MAGIC + sha256(content).digest() + content


def read_state(path: Path, told: Callable[[Note], object]) -> Stored:
    """What the file keeps; nothing where there is none yet.

    Raises InputError where it is another kind of file, which must not be written over, of another version, or of
    another user, who could have any file followed by it. One that is damaged costs a remark, and the watch begins anew.
    """
    try:
        data = _content(path)
    except FileNotFoundError:
        return Stored()
    except OSError as error:
        raise InputError(Note("attach.state_unreadable", str(path), {"reason": error.strerror or str(error)})) from None
    if not data:
        return Stored()
    if not data.startswith(MAGIC):
        raise InputError(Note("attach.state_version" if data.startswith(KIND) else "attach.state_other", str(path)))
    digest, content = data[len(MAGIC) : len(MAGIC) + DIGEST], data[len(MAGIC) + DIGEST :]
    try:
        stored = _named(msgspec.msgpack.decode(content, type=Stored), _name)
        sound = digest == sha256(content).digest() and _is_sound(stored.kept)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        sound = False
    if not sound:
        told(Note("attach.state_damaged", str(path)))
        return Stored()
    return stored


def _content(path: Path) -> bytes:
    if path.is_symlink():
        _check_owner(path, path.lstat())
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise InputError(Note("attach.state_other", str(path)))
        _check_owner(path, found)
        return file.read(LARGEST)


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise InputError(Note("attach.state_foreign", str(path)))


def _is_sound(kept: Kept) -> bool:
    """Can it be what was written? The reader trusts it with paths and sizes."""
    return all(_is_mark(mark) for mark in kept.marks) and all(_is_told(one) for one in kept.told)


def _is_mark(mark: Mark) -> bool:
    numbers = (mark.device, mark.inode, mark.offset)
    return "\0" not in mark.path and all(0 <= number < 1 << 63 for number in numbers) and 0 <= mark.print_bytes <= PRINT


def _is_told(one: Told) -> bool:
    return (
        (one.label == "" or one.label in set(Label)) and math.isfinite(one.first_seen) and 0 <= one.first_seen < LATEST
    )


def _named(stored: Stored, name: Callable[[str], str]) -> Stored:
    """With all paths put through `name`: those of the system need not be text."""
    marks = tuple(replace(mark, path=name(mark.path)) for mark in stored.kept.marks)
    targets = tuple(name(target) for target in stored.targets)
    return replace(stored, kept=replace(stored.kept, marks=marks), targets=targets)


def _kept_name(path: str) -> str:
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _name(kept: str) -> str:
    return kept if kept.isascii() else os.fsdecode(kept.encode("latin-1"))


class StateFile:
    """Writes the state in a thread of its own, the latest alone where writing lasts; the watch never waits for it.

    What cannot be written is said once, and once when it works again.
    """

    def __init__(self, path: Path, told: Callable[[Note], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = Path(os.path.realpath(path)), clock  # a link stays one; what it leads to is replaced
        self._written_at = -EVERY
        self._latest: Stored | None = None
        self._trouble = Trouble(path, told)
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="state", daemon=True)
        self._thread.start()

    def due(self, urgent: bool = False) -> bool:
        """Is it time to save? `urgent` when something new was said."""
        return urgent or self._clock() - self._written_at >= EVERY

    def save(self, stored: Stored) -> None:
        with self._changed:
            self._written_at = self._clock()
            self._latest = stored
            self._changed.notify_all()

    def close(self, seconds: float = 5.0) -> None:
        """Waits for the last state to be written."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._latest is None and not self._closed:
                    self._changed.wait()
                stored, self._latest = self._latest, None
            if stored is None:
                return
            self._write(stored)

    def _write(self, stored: Stored) -> None:
        try:
            replace_file(self._path, to_bytes(stored), lasting=True)
            self._trouble.set("")
        except OSError as error:
            self._trouble.set(error.strerror or str(error))
        except Exception as error:  # the watch would go on without a state, and nobody would know
            self._trouble.set(f"{type(error).__name__}: {error}")
