from __future__ import annotations

import pytest

from doctor.facts.derive.experts import derive
from doctor.facts.model import Event, Source
from doctor.facts.store import FactStore
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


def listed(rows: list[list[int]], step: bool = True, path: str = "a.log") -> list[Event]:
    return [
        Event(
            "moe.tokens",
            Source("log", path, place + 1),
            {"tokens": str(row)},
            step=place if step else None,
            order=place,
        )
        for place, row in enumerate(rows)
    ]


def course(*events: Event) -> dict[str, object]:
    return {fact.name: fact.value for fact in derive(FactStore([], events))}


def test_a_load_that_grows_uneven_over_the_log_is_told() -> None:
    growing = [[1000 + 300 * step, 1000, 1000, 1000] for step in range(12)]
    found = course(*listed(growing))
    assert isinstance(found["moe.trend"], float) and found["moe.trend"] > 1.3
    assert isinstance(found["moe.drift"], float) and found["moe.drift"] > 0.2
    assert course(*listed(growing, step=False)) == found


def test_an_even_load_has_no_course_and_few_lines_tell_none() -> None:
    calm = course(*listed([[1000, 1010, 990, 1000], [1005, 1000, 1000, 995]] * 5))
    assert calm["moe.trend"] == pytest.approx(1.0, abs=0.02) and calm["moe.drift"] == 0.0
    assert "moe.trend" not in course(*listed([[9000, 1, 1, 1]] * 5))


def test_layers_of_one_step_are_not_taken_for_steps() -> None:
    """Two layers a step, the first even and the second not: neither changes."""
    rows = [row for _ in range(8) for row in ([1000, 1000, 1000, 1000], [4000, 10, 10, 10])]
    events = [
        Event("moe.tokens", Source("log", "a.log", n + 1), {"tokens": str(row)}, step=n // 2, order=n)
        for n, row in enumerate(rows)
    ]
    assert course(*events)["moe.trend"] == pytest.approx(1.0)
    assert course(*events)["moe.drift"] == 0.0


def test_a_balancing_loss_that_rises_is_told() -> None:
    events = [
        Event("moe.balance_loss", Source("log", "a.log", n + 1), {"value": 1.0 + 0.1 * n}, order=n) for n in range(12)
    ]
    assert course(*events)["moe.balance_trend"] == pytest.approx(1.95 / 1.15)
