"""One occurrence of a message, as the reader of lines gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from doctor.facts.model import Event, EventSpec, Source
from probes.files.log.clock import State
from probes.files.log.prefix import Prefix
from probes.files.log.tracebacks import Raised, Traceback


@dataclass(frozen=True, slots=True)
class Made:
    """The event of a hit, and what it holds for: what is known of the whole log, and how its clock stood before, None
    where the line tells its time by itself or not at all. `after` is the clock after it, None if it is left as it was.
    """

    event: Event
    context: object
    before: State | None
    after: State | None


@dataclass(slots=True)
class Hit:
    """One occurrence, not yet typed or placed. `spec` is None for a traceback; `made` is what was made of it last."""

    spec: EventSpec | None
    groups: Mapping[str, bytes | None]
    source: Source
    prefix: Prefix
    position: int
    step: int | None
    phase: str
    raised: Raised | None = None
    traceback: Traceback | None = None
    made: Made | None = field(default=None, repr=False, compare=False)
