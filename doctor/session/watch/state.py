"""What outlives pdoctor: where reading stands, what was said, and what is still owed to programs and receivers.

The file is replaced as a whole, at most once a second and whenever something new is said. It holds no whole logs, only
what the readers keep of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.watch.model import Kept
from doctor.session.watch.trouble import Trouble
from doctor.session.written import replace_file

MAGIC = b"pdoctor attach state 1\n"
KIND = b"pdoctor attach state "
EVERY = 1.0
LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Stored:
    """`owed` are documents by outlet (on-finding, webhook, jsonl) that were taken on and not done; `targets` what was
    named to be watched."""

    kept: Kept = field(default_factory=Kept)
    targets: tuple[str, ...] = ()
    owed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def to_bytes(stored: Stored) -> bytes:
    return MAGIC + msgspec.msgpack.encode(stored)


def read_state(path: Path, told: Callable[[Note], object]) -> Stored:
    """What the file keeps; nothing where there is none yet.

    Raises InputError where it is another kind of file, which must not be written over, or of a newer version. One that
    is damaged costs a remark, and the watch begins anew.
    """
    try:
        if path.exists() and (not path.is_file() or path.stat().st_size > LARGEST):
            raise InputError(Note("attach.state_other", str(path)))
        data = path.read_bytes()
    except FileNotFoundError:
        return Stored()
    except OSError as error:
        raise InputError(Note("attach.state_unreadable", str(path), {"reason": error.strerror or str(error)})) from None
    if not data:
        return Stored()
    if not data.startswith(MAGIC):
        raise InputError(Note("attach.state_newer" if data.startswith(KIND) else "attach.state_other", str(path)))
    try:
        return msgspec.msgpack.decode(data[len(MAGIC) :], type=Stored)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        told(Note("attach.state_damaged", str(path)))
        return Stored()


class StateFile:
    """Writes the state in a thread of its own, the latest alone where writing lasts; the watch never waits for it.

    What cannot be written is said once, and once when it works again.
    """

    def __init__(self, path: Path, told: Callable[[Note], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
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
