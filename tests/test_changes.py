"""What a remedy prints is there to be copied: a shell takes it once the names in capitals are filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from doctor.rulebase.load import load_rulebase

BASE = load_rulebase().base
WORDS = re.compile(r"(?:[ =]\d+x|[ =](?:half|twice|double))(?:$|[ ,)])")
"""A multiple of what is there now, in the place of a value."""


def flags() -> Iterator[tuple[str, str, str]]:
    for rule in BASE.rules.values():
        for remedy in rule.remedies:
            for framework, text in (remedy.change.get("flags") or {}).items():
                yield rule.id, framework, text if isinstance(text, str) else "\n".join(map(str, text))


@pytest.mark.parametrize(("rule", "framework", "text"), list(flags()))
def test_a_flag_has_a_value_and_no_word_for_one(rule: str, framework: str, text: str) -> None:
    for line in text.splitlines():
        assert not WORDS.search(line.partition("  #")[0])
