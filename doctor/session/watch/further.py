"""Facts on the job that do not come from its files: what dumps say, and what is known of this node."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from doctor.facts.model import Fact


@dataclass(slots=True)
class Further:
    """By who gave them; may be given from any thread."""

    _facts: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    _lasting: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def give(self, giver: str, facts: Sequence[Fact], lasting: bool = False) -> None:
        """In place of earlier ones of that giver. Those that are not `lasting` hold for this attempt alone."""
        with self._lock:
            self._facts[giver] = tuple(facts)
            if lasting:
                self._lasting.add(giver)

    def facts(self) -> list[Fact]:
        with self._lock:
            return [fact for facts in self._facts.values() for fact in facts]

    def begin_attempt(self) -> None:
        """What was seen of the processes before is not true of the new ones."""
        with self._lock:
            self._facts = {giver: facts for giver, facts in self._facts.items() if giver in self._lasting}
