"""What a pattern looks like to a reader of logs."""

from __future__ import annotations

import re

import pytest

from doctor.rulebase.load import read_rulebase
from doctor.rulebase.sample import GAP, LONGEST, sample


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        (r"Connect to (?P<host>\S+)<(?P<port>\d+)> failed", "Connect to <host><<port>> failed"),
        (r"rank \d+ of [0-9a-f]+ in \w+", "rank <n> of <n> in <word>"),
        (r"[Gg]radient (?:overflow|underflow)(?: again)?\.", "Gradient overflow."),
        (r"open .{0,80}failed: (?P<why>No such file)", "open …failed: No such file"),
        (r"^  Pending +: (?P<remap>Yes|No)", "Pending : <remap>"),
        (r"a{3}b? ?c", "aaa c"),
        (r"(unclosed", "(unclosed"),
    ],
)
def test_a_sample(pattern: str, shown: str) -> None:
    assert sample(pattern) == shown


def test_samples_without_places_to_fill_are_what_the_pattern_reads() -> None:
    for spec in read_rulebase().base.events.values():
        for pattern in spec.patterns:
            shown = sample(pattern)
            assert shown and len(shown) <= LONGEST and "\n" not in shown
            if "<" not in shown and GAP not in shown:
                # Blanks at the ends are not shown.
                assert any(re.search(pattern, f"{indent}{shown} ") for indent in ("", " " * 8)) or pattern.endswith(
                    "$"
                ), (pattern, shown)
