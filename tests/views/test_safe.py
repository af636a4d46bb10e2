from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from doctor.views.safe import UNSAFE, json_safe, visible, visible_lines


def test_escape_sequences_are_shown_and_not_obeyed() -> None:
    assert visible("\x1b]0;title\x07\x1b[31mred") == "\\x1b]0;title\\x07\\x1b[31mred"


def test_eight_bit_controls_and_delete_are_shown() -> None:
    assert visible("a\x9b2Jb\x7f") == "a\\x9b2Jb\\x7f"


def test_letters_that_reorder_or_hide_are_shown() -> None:
    assert visible("a\u202eb\u200bc\ufeff\U000e0041") == "a\\u202eb\\u200bc\\ufeff\\U000e0041"


def test_a_name_that_is_not_utf8_is_shown() -> None:
    assert visible(b"log\xff".decode("utf-8", "surrogateescape")) == "log\\udcff"


def test_ordinary_text_stays_as_it_is() -> None:
    assert visible("显存不足 ✗ café [red]x[/red]") == "显存不足 ✗ café [red]x[/red]"


def test_lines_keep_their_indentation() -> None:
    assert visible_lines("if x:\n\ty()\r\n") == ["if x:", "    y()"]


@given(st.text())
def test_nothing_unsafe_is_ever_left(text: str) -> None:
    assert not any(unicodedata.category(char) in UNSAFE for char in visible(text))


@given(st.text())
def test_json_keeps_its_content_without_live_characters(text: str) -> None:
    document = json_safe(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(document) == {"a": text}
    assert not any(unicodedata.category(char) in UNSAFE for char in document)
