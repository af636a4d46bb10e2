from __future__ import annotations

from doctor.views.quote import excerpt


def test_a_short_line_is_quoted_whole() -> None:
    assert excerpt("  CUDA out of memory ", 40) == "CUDA out of memory"


def test_a_long_line_is_cut_around_the_match() -> None:
    line = "x" * 500 + " CUDA out of memory " + "y" * 500
    shown = excerpt(line, 60, ["no such", "CUDA out of memory"])
    assert len(shown) <= 60
    assert shown.startswith("…") and shown.endswith("…") and "CUDA out of memory" in shown


def test_a_cut_does_not_split_a_word() -> None:
    line = "x" * 200 + " abcdefghij [Rank 0] Watchdog caught" + "y" * 500
    assert excerpt(line, 60, ["Watchdog"]).startswith("…abcdefghij [Rank 0] Watchdog caught")


def test_a_match_at_the_end_keeps_the_end() -> None:
    shown = excerpt("x" * 500 + " the end", 60, ["the end"])
    assert shown.endswith("the end") and len(shown) == 60


def test_a_match_near_the_start_keeps_the_start() -> None:
    assert excerpt("[rank3]: Watchdog " + "y" * 500, 60, ["Watchdog"]).startswith("[rank3]: Watchdog")


def test_without_a_pattern_the_start_is_kept() -> None:
    assert excerpt("abc" * 100, 10) == "abcabcabc…"


def test_escapes_before_the_match_do_not_move_it_out_of_sight() -> None:
    line = "\x1b[31m" * 100 + "CUDA out of memory" + "y" * 500
    assert "CUDA out of memory" in excerpt(line, 60, ["CUDA out of memory"])
