"""A job that is watched as what a session is made of: read once, and again whenever there is something new to say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from doctor.session.item import Item, Told

if TYPE_CHECKING:
    from doctor.session.analyze import Material
    from doctor.session.collecting import Source
    from doctor.session.watch.follow import Following
    from doctor.session.watch.model import Announcement
    from doctor.session.watch.watch import Watch

FIRST = 2.0
"""Seconds for which a job that has written nothing yet is waited for before its screen is shown."""


class Watched:
    """`named` is what the person asked to follow; `beside` hears what is said at each turn; `interval` in seconds."""

    node: ClassVar[bool] = False

    def __init__(
        self,
        watch: Watch,
        following: Following,
        named: Sequence[str],
        interval: float,
        beside: Callable[[Sequence[Announcement]], object],
    ) -> None:
        self.paths = tuple(named)
        self._watch, self._following, self._interval, self._beside = watch, following, interval, beside

    def collect(self, told: Told) -> Material:
        """What is there already."""
        for path in self.paths:
            told(Item(path))
        begun = time.monotonic()
        while self._turn()[1] or (self._watch.heard_at is None and time.monotonic() - begun < FIRST):
            pass
        for path in self.paths:
            told(Item(path, "done"))
        return self._watch.material()

    def go_on(self, changed: Callable[[Material], bool]) -> None:
        """Watches until the job is over or `changed` gives False; it hears of all that is known when that changes."""
        while True:
            said, more = self._turn()
            over = self._following.over() and not more
            if (said or over) and not changed(self._watch.material()):
                return
            if over:
                return

    def _turn(self) -> tuple[bool, bool]:
        """Was something said, and is there more to read at once?"""
        begun = time.monotonic()
        turned = self._watch.turn()
        self._beside(turned.said)
        if not turned.more:
            time.sleep(max(self._interval - (time.monotonic() - begun), 0.01))
        return bool(turned.said), turned.more

    def skip(self, name: str) -> None:
        """Nothing here is waited for."""

    def adding(self, path: str) -> Source:
        """A watch follows what it was begun with; further files are read with `pdoctor analyze --tui`."""
        return self
