"""A job that is watched as what a session is made of: read once, and again whenever there is something new to say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from doctor.session.item import Item, Told
from doctor.session.notes import Note
from doctor.session.watch.ending import End

if TYPE_CHECKING:
    from doctor.session.analyze import Material
    from doctor.session.collecting import Source
    from doctor.session.watch.ending import Ending
    from doctor.session.watch.follow import Following
    from doctor.session.watch.model import Announcement, Status
    from doctor.session.watch.watch import Episode, Watch

FIRST = 2.0
"""Seconds for which a job that has written nothing yet is waited for before its screen is shown."""

EVERY = 1.0
"""Seconds between two words on how the job stands."""

STALE = 60.0
"""Seconds after which what is known is given anew though nothing is to be said of it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a watch stands, and what came since the last word on it: what was `said`, and `notes` on files.

    `status` is how the job stands; `heard_at` is when it last wrote, None while it has not; `end` how the watch ended,
    None while it goes on; `attempt` the restart attempt that runs, where there are several, and `earlier` those before
    it. `material` is all that is known, where something was said, the watch is over, or much was read since."""

    status: Status
    heard_at: float | None
    said: tuple[Announcement, ...] = ()
    notes: tuple[Note, ...] = ()
    end: End | None = None
    earlier: tuple[Episode, ...] = ()
    attempt: int | None = None
    material: Material | None = None


class Watched:
    """`named` is what the person asked to follow; `beside` hears what is said at each turn, `notes` gives what was
    remarked elsewhere since it was last asked; `interval` is the seconds of a turn."""

    node: ClassVar[bool] = False

    def __init__(
        self,
        watch: Watch,
        following: Following,
        ending: Ending,
        named: Sequence[str],
        interval: float,
        beside: Callable[[Sequence[Announcement]], object],
        notes: Callable[[], Iterable[Note]] = tuple,
    ) -> None:
        self.paths = tuple(named)
        self._watch, self._following, self._ending, self._interval = watch, following, ending, interval
        self._beside, self._notes_elsewhere = beside, notes
        self._said: list[Announcement] = []
        self._notes: list[Note] = []
        self._told_at = float("-inf")
        self._end: End | None = None
        self._attempts, self._given, self._given_at = 0, watch.heard_at, time.monotonic()
        self._turning, self._stopped = threading.Lock(), False

    def collect(self, told: Told) -> Material:
        """What is there already."""
        for path in self.paths:
            told(Item(path))
        begun = time.monotonic()
        while self._turn() or self._waits(begun):
            pass
        for path in self.paths:
            told(Item(path, "done"))
        return self._watch.material()

    def _waits(self, begun: float) -> bool:
        idle = self._watch.heard_at is None and self._end is None and not self._stopped
        return idle and time.monotonic() - begun < FIRST

    def go_on(self, heard: Callable[[Standing], bool]) -> None:
        """Watches until the job is over, `stop` is called, or `heard` gives False; it hears of how the job stands once
        a second, and at once when something is said."""
        while not self._stopped:
            standing = self._stands()
            if standing is not None and not heard(standing):
                return
            if self._end is not None:
                return
            self._turn()

    def stop(self) -> None:
        """Ends the watch; returns when nothing is read any more."""
        self._stopped = True
        with self._turning:
            pass

    def _turn(self) -> bool:
        """Is there more to read at once?"""
        begun = time.monotonic()
        with self._turning:
            if self._stopped or self._end is not None:
                return False
            turned = self._watch.turn()
            self._beside(turned.said)
            self._said += turned.said
            self._notes += turned.notes
            if not turned.more:
                self._end = self._ending.see(bool(turned.heard))
            if self._end is not None:
                last = self._watch.finish()
                self._beside(last)
                self._said += last
        if not turned.more and self._end is None:
            time.sleep(max(self._interval - (time.monotonic() - begun), 0.01))
        return turned.more

    def _stands(self) -> Standing | None:
        """What there is to tell, where it is time to."""
        self._notes += self._notes_elsewhere()
        now = time.monotonic()
        if not (self._said or self._notes or self._end or now - self._told_at >= EVERY):
            return None
        with self._turning:
            if self._stopped:
                return None
            watch, said, notes = self._watch, tuple(self._said), tuple(self._notes)
            self._said, self._notes, self._told_at = [], [], now
            earlier = tuple(watch.episodes)
            changed = said or self._end is not None or len(earlier) != self._attempts
            stale = watch.heard_at != self._given and now - self._given_at >= STALE
            material = watch.material() if changed or stale else None
            if material is not None:
                self._attempts, self._given, self._given_at = len(earlier), watch.heard_at, now
            return Standing(watch.status(), watch.heard_at, said, notes, self._end, earlier, watch.attempt, material)

    def skip(self, name: str) -> None:
        """Nothing here is waited for."""

    def adding(self, path: str) -> Source:
        """The watch follows it too, whatever it is."""
        self._following.further.append(path)
        return self
