from __future__ import annotations

from string import Formatter

import pytest

from doctor.facts.said import TEXTS, said, words


@pytest.mark.parametrize("key", TEXTS)
def test_both_languages_are_filled_by_the_same_values(key: str) -> None:
    english, chinese = ({name for _, name, _, _ in Formatter().parse(text) if name} for text in TEXTS[key])
    assert english == chinese


def test_texts_within_texts_are_in_the_same_language() -> None:
    told = said("fr.last", call=said("fr.call", op="barrier", way="", seq=8, group="tp"))
    assert words(told) == "; its last call was barrier 8 in tp"
    assert words(told, "zh") == "；最后的调用是 tp 的第 8 次 barrier"


def test_braces_in_a_value_are_kept_as_they_are() -> None:
    assert words(said("fr.at", place="{x} {0}")) == ", at {x} {0}"
