"""`--live`: collective tests as part of a look at the node."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from doctor.cli import options
from doctor.messages_bench import say
from doctor.session.bench import Result
from doctor.session.live import busy, live, refused
from doctor.session.node import Outcome


def test(
    outcomes: Sequence[Outcome], python: str | None, force: bool, lang: str, quiet: bool
) -> tuple[Outcome, Result | None]:
    """The tests as one more outcome; refused in a line while the GPUs are held, unless `force` is set."""
    if not force and (reason := busy(outcomes)):
        options.note(say(lang, "live_refused", reason=reason))
        return refused(reason), None
    told = options.note if not quiet and sys.stderr.isatty() else _nothing
    return live(outcomes, python or "", told)


def _nothing(text: str) -> None:
    """Says nothing."""
