"""A job that is watched while a person walks: how it stands, what was said of it, and what of that is still unseen."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.text import Text

from doctor.messages import LANGUAGES

if TYPE_CHECKING:
    from doctor.facts.model import Source
    from doctor.session.session import Session
    from doctor.session.watch.model import Announcement
    from doctor.session.watch.source import Standing
    from doctor.views.tui.app import PdoctorApp

MOST = 500
"""Lines of what was said that are kept."""

Told = dict[str, Text]
"""A line in each language."""


def event_key(source: Source) -> str:
    """The row of a failure that no rule explains."""
    return f"event {source.path}:{source.line}"


class Watching:
    """`go_on` watches, and tells what it is given how the job stands.

    `standing` is the latest word on the job, `told` what was said, latest last; `new` are the rows of the list of
    findings that came and were not looked at, each with its time (seconds since the epoch); `remarks` those of what was
    told that stand in no row and were not read yet.
    """

    def __init__(self, app: PdoctorApp, go_on: Callable[[Callable[[Standing], bool]], object]) -> None:
        self._app, self._go_on = app, go_on
        self.standing: Standing | None = None
        self.told: deque[Told] = deque(maxlen=MOST)
        self.new: dict[str, float] = {}
        self.remarks: deque[Told] = deque(maxlen=MOST)

    def begin(self) -> None:
        """Watches from now on, beside the screen."""
        threading.Thread(target=self._go_on, args=(self._heard,), name="watch", daemon=True).start()

    def look_at(self, key: str) -> None:
        """The person has looked at a row."""
        self.new.pop(key, None)

    def read(self) -> None:
        """The person has read what was said."""
        self.remarks.clear()

    def _heard(self, standing: Standing) -> bool:
        """In the thread of the watch; False once nobody looks any more."""
        app, base, grown = self._app, self._app.session, None
        if standing.material is not None and base is not None:
            from doctor.session.session import with_material

            grown = with_material(base, standing.material)
        if grown is None and not standing.notes:
            self.standing = standing  # is drawn when its second comes, and waits for nothing
        else:
            app.from_thread(self._came, standing, base, grown)
        return app.is_running

    def _came(self, standing: Standing, base: Session | None, grown: Session | None) -> None:
        first, self.standing = self.standing is None, standing
        for said in standing.said:
            self._take(said, first)
        for note in standing.notes:
            from doctor.views.watch_text import noted

            self._remark({lang: noted(note, standing.status.at, lang) for lang in LANGUAGES})
        if grown is not None:
            self._show(base, grown)
        else:
            self._app.renew()

    def _show(self, base: Session | None, grown: Session) -> None:
        """Shows the session with what came; the person may have answered or chosen meanwhile. Only what stands in the
        list can be looked at."""
        from doctor.session.session import with_material
        from doctor.views import present

        now = self._app.session
        if now is not None and now is not base:
            grown = with_material(now, grown.material)
        held = {f"rule {finding.rule.id}" for finding in grown.report.diagnosis.findings}
        held |= {event_key(event.source) for event in present.unexplained(grown.report)}
        self.new = {key: at for key, at in self.new.items() if key in held}
        self._app.update(grown)

    def _take(self, said: Announcement, first: bool) -> None:
        """Keeps what was said; what was there when the screen opened is no news."""
        from doctor.session.watch.model import Kind
        from doctor.session.watch.telling import first_unexplained
        from doctor.views.watch_text import headline

        line = {lang: headline(said, lang) for lang in LANGUAGES}
        if said.kind is Kind.RESOLVED:
            self._remark(line)
            return
        self.told.append(line)
        if first or said.kind is Kind.STORM:
            return
        if said.finding is not None:
            self.new.setdefault(f"rule {said.finding.rule.id}", said.at)
        elif said.report.diagnosis.unexplained:
            self.new.setdefault(event_key(first_unexplained(said.report).source), said.at)

    def _remark(self, line: Told) -> None:
        self.told.append(line)
        self.remarks.append(line)
