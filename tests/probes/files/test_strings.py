"""What is found at once is what is found one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probes.files.strings import Strings

SHORT = st.text(alphabet="ab.*\n行\udc80", min_size=1, max_size=4)


@given(st.lists(SHORT, max_size=8), st.text(alphabet="ab.*\n行\udc80", max_size=30))
def test_all_at_once(strings: list[str], text: str) -> None:
    assert Strings(strings).within(text) == {string for string in strings if string in text}


def test_signs_of_patterns_are_plain_text() -> None:
    assert Strings(["a.c", "(", "[rank"]).within("abc [rank3]") == {"[rank"}
