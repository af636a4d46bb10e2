"""One numbering of all patterns, the built-in ones last."""

from __future__ import annotations

import sys

from doctor.facts.model import EventSpec, Symptom
from probes.files.log.patterns import BUILT_IN, LONG, Patterns

STEP = EventSpec("a.step", (r"step +(?P<step>\d+)", r"it (?P<step>\d+)"))
BROKEN = EventSpec("a.broken", ("(",), symptom=Symptom.FATAL)
PATTERNS = Patterns((STEP, BROKEN))


def test_every_pattern_of_an_event_has_a_number_and_built_in_ones_follow() -> None:
    assert PATTERNS.specs == [STEP, STEP, BROKEN, *[None] * len(BUILT_IN)]
    assert [PATTERNS.texts[i] for i in PATTERNS.built_in] == list(BUILT_IN)


def test_captures_have_the_names_of_the_pattern_on_lines_of_any_length() -> None:
    assert PATTERNS.search(0, b"step  12") == {"step": b"12"}
    assert PATTERNS.search(0, b"x" * LONG + b" step 12") == {"step": b"12"}
    assert PATTERNS.search(0, b"stop 12") is None


def test_a_pattern_that_is_no_pattern_finds_nothing_and_says_why() -> None:
    assert PATTERNS.search(2, b"(") is None
    assert PATTERNS.search(2, b"(") is None
    assert set(PATTERNS.bad) == {2}


def test_short_words_of_harmless_messages_alone_are_vague() -> None:
    assert PATTERNS.vague == {0, 1}
    assert not Patterns((EventSpec("a.long", (r"iteration \d+",)),)).vague
    assert not Patterns((EventSpec("a.fatal", (r"it \d+",), symptom=Symptom.FATAL),)).vague


def test_tracebacks_and_what_fails_are_read_longer_than_steps() -> None:
    assert PATTERNS.limit(0, 500) == 500
    assert PATTERNS.limit(2, 500) > 500
    assert PATTERNS.limit(PATTERNS.built_in[0], 500) == sys.maxsize
