"""Patterns that may take very long are told from those that may not."""

from __future__ import annotations

import pytest

from probes.files.log.syntax import may_explode


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(?:a|b*)+c", "a.*b.*c.*d", "x(?:.*a.*b.*c)?", "a.*b.*c(?:.*d){2}e", "a.*b.*c.*$"]
)
def test_may_explode(pattern: str) -> None:
    assert may_explode(pattern.encode())


@pytest.mark.parametrize("pattern", ["a+b", "(?:a|b)c*", "a.*b.*c", "a.*b(?:.*?c)?(?:.*?d)?(?:.*?e)?", "a.*b.*c.*"])
def test_may_not(pattern: str) -> None:
    assert not may_explode(pattern.encode())
