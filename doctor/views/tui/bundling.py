"""Writes a bundle for somebody else while the screen goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.session.inputs import InputError
from doctor.session.written import candidates
from doctor.views.safe import visible

if TYPE_CHECKING:
    from doctor.rulebase.load import Loaded
    from doctor.session.collecting import Source
    from doctor.views.tui.app import PdoctorApp


def bundle_beside(app: PdoctorApp, name: str) -> None:
    """Writes what the session was read from to `name` in the person's folder, and says so when it is done."""
    if app.session is None:
        return
    app.notify(app.say("tui.bundle.begun"), markup=False)
    target = next(path for path in candidates(app.folder, name) if not path.exists())
    given = (app, app.source, app.session.material.loaded, target)
    threading.Thread(target=_write, args=given, name="bundle", daemon=True).start()


def _write(app: PdoctorApp, source: Source, loaded: Loaded, target: Path) -> None:
    from doctor.session.collecting import bundled
    from doctor.views.present import size

    try:
        done = bundled(source, loaded, target)
    except InputError as error:
        told = app.say(error.note.key, path=error.note.path, **error.note.values)
        app.from_thread(app.notify, visible(told), severity="error", markup=False)
    except Exception as error:  # the session goes on without the bundle
        told = app.say("tui.unwritable", path=target, reason=f"{type(error).__name__}: {error}")
        app.from_thread(app.notify, visible(told), severity="error", markup=False)
    else:
        hidden = sum(done.manifest.hidden.values())
        told = app.say("tui.bundle.done", path=target, size=size(done.bytes), n=hidden)
        app.from_thread(app.wrote, told)
