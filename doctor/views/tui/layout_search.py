"""The search for other layouts of the job, which goes on beside the screen."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the planner is imported by who searches
    from doctor.session.layouts import Layouts
    from doctor.session.session import Session
    from doctor.views.tui.app import PdoctorApp

TOLD = 0.2
"""Seconds between two figures of a search that runs."""


class LayoutSearch:
    """`considered`: how many layouts were looked at so far; None while nothing is searched for."""

    def __init__(self, app: PdoctorApp) -> None:
        self._app = app
        self.considered: int | None = None

    def begin(self) -> None:
        """Searches for layouts of the session that is shown; nothing where that goes on already."""
        session = self._app.session
        if session is not None and self.considered is None:
            self.considered = 0
            self._app.renew()
            threading.Thread(target=self._search, args=(session,), name="layouts", daemon=True).start()

    def _search(self, session: Session) -> None:
        from doctor.session.session import search_layouts

        told = time.monotonic()

        def going(considered: int) -> bool:
            nonlocal told
            if time.monotonic() - told > TOLD:
                told = time.monotonic()
                self._app.from_thread(self._goes_on, considered)
            return self._app.is_running

        self._app.from_thread(self._found, search_layouts(session, going))

    def _goes_on(self, considered: int) -> None:
        self.considered = considered
        self._app.renew()

    def _found(self, found: Layouts) -> None:
        from doctor.session.session import with_layouts

        self.considered = None
        if self._app.session is not None:
            self._app.update(with_layouts(self._app.session, found))
