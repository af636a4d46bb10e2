"""The patterns of all events, in one numbering and compiled when they are first needed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from doctor.facts.model import EventSpec, Symptom
from probes.files.log.locate import linear
from probes.files.log.syntax import literals, may_explode

BULK_SERIOUS = 10_000
"""Occurrences in a file of a message that is no harmless one, after which the rest are sampled."""

VAGUE = 6
"""Strings of fewer characters are in every healthy line."""

LONG = 2048
"""Longer lines are searched in linear time, where re2 is installed: `.*` twice in a pattern is quadratic in `re`."""

BUILT_IN = (
    r"Traceback \(most recent call last\)",
    r"File \"[^\"\r\n]{1,300}\", line \d+",
    r"comm 0x[0-9a-f]+ rank \d+ nranks \d+",
    r"rank +: \d+ \(local_rank: \d+\)",
    r"pid=\d+\) world_rank=\d+, local_rank=",
    r"(?:^|[^\w.])(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{2,60}(?:Error|Exception): \S",
)


class Patterns:
    """The patterns of all events in one numbering, the built-in ones last."""

    def __init__(self, specs: Sequence[EventSpec]) -> None:
        pairs = [(spec, pattern) for spec in specs for pattern in spec.patterns]
        self.specs: list[EventSpec | None] = [spec for spec, _ in pairs] + [None] * len(BUILT_IN)
        self.texts = (*(pattern for _, pattern in pairs), *BUILT_IN)
        self.built_in = range(len(pairs), len(self.texts))
        self._compiled: dict[int, Any] = {}
        self._linear: dict[int, Any] = {}
        self.bad: dict[int, str] = {}

    def search(self, index: int, unit: bytes) -> dict[str, bytes | None] | None:
        """Captures of pattern `index` on a line, or None if it does not match the line alone."""
        if index in self.bad:
            return None
        try:
            engine = self._for_long(index) if len(unit) > LONG else self._plain(index)
        except (re.error, OverflowError, RecursionError) as error:
            self.bad[index] = str(error)
            return None
        match = engine.search(unit)
        if match is None:
            return None
        groups: dict[Any, bytes | None] = match.groupdict()
        # re2 names the captures of a pattern in bytes by bytes, Python's re by str.
        return groups if isinstance(engine, re.Pattern) else {name.decode(): groups[name] for name in groups}

    def _plain(self, index: int) -> Any:
        if index not in self._compiled:
            text = self.texts[index].encode("utf-8", "surrogateescape")
            self._compiled[index] = linear(text) if may_explode(text) else re.compile(text)
        return self._compiled[index]

    def _for_long(self, index: int) -> Any:
        if index not in self._linear:
            self._linear[index] = linear(self.texts[index].encode("utf-8", "surrogateescape"))
        return self._linear[index]

    @cached_property
    def vague(self) -> frozenset[int]:
        """Patterns of harmless messages whose only strings are short words, which all healthy lines are full of.

        Some thirty of them cost as much time as a thousand others, so in large logs they are looked for in places.
        """
        return frozenset(
            i
            for i, (spec, text) in enumerate(zip(self.specs, self.texts, strict=True))
            if spec
            and spec.symptom is Symptom.NONE
            and not spec.phase
            and min(map(len, literals(text.encode("utf-8", "surrogateescape"))), default=0) < VAGUE
        )

    def limit(self, index: int, bulk: int) -> int:
        """How many occurrences of pattern `index` in a file are read one by one; tracebacks are told by kind."""
        if index in self.built_in[:2]:
            return sys.maxsize
        spec = self.specs[index]
        return bulk if spec and spec.symptom is Symptom.NONE else BULK_SERIOUS
