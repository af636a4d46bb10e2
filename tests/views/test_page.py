from __future__ import annotations

import io

from rich.cells import cell_len

from doctor.views.page import Page


def printed(page: Page) -> list[str]:
    out = io.StringIO()
    page.print(out)
    return out.getvalue().splitlines()


def test_paragraphs_wrap_at_spaces_below_their_heading() -> None:
    page = Page(40)
    page.beside("why", "one two three four five six seven eight nine ten", 10)
    assert printed(page) == ["  why     one two three four five six", "          seven eight nine ten"]


def test_chinese_wraps_by_columns_and_not_by_characters() -> None:
    page = Page(40)
    page.beside("原因", "显存" * 40, 10)
    lines = printed(page)
    assert len(lines) > 2
    assert all(cell_len(line) <= 40 for line in lines)


def test_closing_punctuation_does_not_begin_a_line() -> None:
    page = Page(40)
    page.wrapped("显存不足" * 5 + "，" + "显存不足" * 5)
    assert not any(line.startswith("，") for line in printed(page))


def test_a_command_is_never_wrapped() -> None:
    page, command = Page(40), "torchrun " + "--x 1 " * 50
    page.raw(command.strip(), 4)
    assert printed(page) == ["    " + command.strip()]


def test_a_word_longer_than_the_line_is_cut() -> None:
    page = Page(40)
    page.wrapped("x" * 100)
    assert [len(line) for line in printed(page)] == [40, 40, 20]


def test_no_colour_is_written_to_a_file() -> None:
    page = Page(40)
    page.wrapped("plain", style="bold red")
    assert printed(page) == ["plain"]
