"""All that a watch does besides telling: what is announced goes to where a person asked for it, a hang has dumps taken,
and what has to outlive a restart is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.watch.actions import Actions
from doctor.session.watch.dumps import Dumps
from doctor.session.watch.memory_dumps import MemoryDumps
from doctor.session.watch.model import Announcement, Kept
from doctor.session.watch.resume import Marks, starts
from doctor.session.watch.state import StateFile, Stored
from doctor.session.watch.watch import Watch

EVERY = 1.0
"""Seconds between two looks at how the job stands."""
PATIENCE = 10.0
"""Seconds that what is pending is given at the end."""


class Acting:
    """Beside `watch`; `stored` is what its state held at the start, `targets` what is watched."""

    def __init__(
        self,
        watch: Watch,
        actions: Actions,
        dumps: Sequence[Dumps | MemoryDumps] = (),
        state: StateFile | None = None,
        stored: Stored | None = None,
        targets: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watch, self._actions, self._dumps, self._state = watch, actions, dumps, state
        self._targets, self._clock = tuple(targets), clock
        self._marks = Marks(stored.kept.marks if stored else ())
        self._looked = float("-inf")

    def turned(self, said: Sequence[Announcement]) -> None:
        """After each turn of the watch, with what was said in it."""
        for one in said:
            self._actions(one)
            for dumps in self._dumps:
                dumps(one)
        now = self._clock()
        if said or now - self._looked >= EVERY:
            self._looked = now
            self._actions.status(self._watch.status)
            for dumps in self._dumps:
                if self._watch.report is not None:
                    dumps.look(self._watch.report)
        if self._state is not None and self._state.due(urgent=bool(said)):
            self._state.save(self._stored())

    def close(self) -> None:
        """At the end: what is pending is waited for, and what was not done is owed."""
        for dumps in self._dumps:
            dumps.close()
        self._actions.close(PATIENCE)
        if self._state is not None:
            self._state.save(self._stored())
            self._state.close()

    def _stored(self) -> Stored:
        kept = self._watch.kept()
        for mark in kept.marks:
            self._marks.see(mark.path, mark.device, mark.inode, mark.offset)
        return Stored(replace(kept, marks=self._marks.marks()), self._targets, self._actions.owed())


def kept_of(path: Path, stored: Stored, targets: Sequence[str]) -> Kept:
    """What a watch of `targets` takes over, with one mark for each path to begin with.

    Raises InputError where the state is of another watch. Where no file of it is left another job has begun, of which
    nothing was said yet.
    """
    if stored.targets and stored.targets != tuple(targets):
        raise InputError(Note("attach.state_elsewhere", str(path), {"what": ", ".join(stored.targets)}))
    marks = tuple(starts(stored.kept.marks))
    return replace(stored.kept, marks=marks) if marks or not stored.kept.marks else Kept()
