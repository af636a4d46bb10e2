from __future__ import annotations

import pytest

from doctor.facts.derive.experts import derive
from tests.facts.derive.speed_lines import line, store_of, values


@pytest.mark.parametrize(
    ("tokens", "ratio"),
    [("[100, 100, 100, 500]", 2.5), ("[100,100,100,500]", 2.5), ("[100 100 100 500", 2.5), ("[1,024, 1,024]", 1.0)],
)
def test_lists_of_tokens_are_read_however_they_are_separated(tokens: str, ratio: float) -> None:
    assert values([*derive(store_of(line("moe.tokens", tokens=tokens)))])["moe.overload"] == pytest.approx(ratio)


def test_the_worst_and_the_usual_load_are_told_apart() -> None:
    events = [line("moe.overload", i, factor=factor) for i, factor in enumerate((1.1, 1.2, 6.0))]
    found = values([*derive(store_of(*events))])
    assert (found["moe.overload"], found["moe.overload_usual"]) == (6.0, 1.2)


def test_a_violation_is_what_exceeds_the_mean() -> None:
    assert values([*derive(store_of(line("moe.violation", violation=0.3)))])["moe.overload"] == pytest.approx(1.3)


def test_lines_of_single_ranks_are_put_together() -> None:
    events = [line("moe.rank_tokens", rank, of_rank=rank, tokens=tokens)
              for rank, tokens in enumerate(("1,000", "1,000", "4,000"))]  # fmt: skip
    assert values([*derive(store_of(*events))])["moe.overload"] == pytest.approx(2.0)


@pytest.mark.parametrize("tokens", ["[0, 0, 0]", "[]", "[512]"])
def test_no_tokens_are_no_load(tokens: str) -> None:
    assert "moe.overload" not in values([*derive(store_of(line("moe.tokens", tokens=tokens)))])


def test_one_expert_for_all_tokens_is_an_overload_and_a_spread_choice_is_none() -> None:
    same, spread = ", ".join(["30"] * 8), "3, 30, 9, 11, 63, 3, 28, 40"
    assert values([*derive(store_of(line("moe.routing", chosen=same)))])["moe.overload"] == 31
    assert "moe.overload" not in values([*derive(store_of(line("moe.routing", chosen=spread)))])
