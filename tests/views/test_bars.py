from __future__ import annotations

import io

from doctor.session.pictures import Bar, Part, Picture
from doctor.views.bars import LENGTH, MOST, draw
from doctor.views.page import Page


def printed(picture: Picture, everything: bool = False, lang: str = "en") -> str:
    page, out = Page(100), io.StringIO()
    draw(page, picture, lang, everything)
    page.print(out, color=False)
    return out.getvalue()


BAR = Bar("rank:0", 0.5, (Part("compute", 0.5), Part("comm_tp", 0.25), Part("memory", 0.001), Part("idle_host", 0.249)))


def test_a_bar_has_its_length_and_names_its_parts() -> None:
    text = printed(Picture("device_time", (BAR,)))
    assert sum(text.count(mark) for mark in "█▓▒") + text.split("compute")[0].count("·") == LENGTH
    assert text.count("█") == LENGTH // 2
    assert "compute 50.0%" in text and "exposed tensor parallel 25.0%" in text and "exposed copies" not in text


def test_of_many_ranks_the_first_are_drawn_and_the_rest_counted() -> None:
    many = Picture("device_time", tuple(Bar(f"rank:{n}", 0.5, BAR.parts) for n in range(MOST + 4)))
    assert "and 4 more ranks" in printed(many)
    assert "more ranks" not in printed(many, everything=True)


def test_it_speaks_chinese() -> None:
    assert "计算 50.0%" in printed(Picture("device_time", (BAR,)), lang="zh")
