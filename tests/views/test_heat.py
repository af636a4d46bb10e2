from __future__ import annotations

import io

import pytest

from doctor.session.heat import Heat, Row
from doctor.views.heat import MOST_ROWS, draw_heat
from doctor.views.page import Page


def printed(heat: Heat, everything: bool = False, lang: str = "en") -> str:
    page, out = Page(100), io.StringIO()
    draw_heat(page, heat, lang, everything)
    page.print(out, color=False)
    return out.getvalue()


def test_each_expert_is_shaded_by_its_load() -> None:
    text = printed(Heat((Row(("3",), (0.0, 0.3, 0.7, 1.0, 1.5, 2.5)),)))
    assert "3 ✗·░▒▓█" in text
    assert "experts in a cell: 1" in text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_large_model_fits_on_a_page(lang: str) -> None:
    heat = Heat(tuple(Row((str(n),), (1.0,) * 256) for n in range(60)))
    lines = printed(heat, lang=lang).splitlines()
    assert len(lines) <= MOST_ROWS + 4
    assert all(len(line) <= 100 for line in lines)
    assert len(printed(heat, everything=True).splitlines()) >= 60
