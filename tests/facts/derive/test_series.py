from __future__ import annotations

from doctor.facts.derive.series import derive, steps
from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from tests.facts.derive.speed_lines import values


def table(ranks: tuple[int, ...]) -> FactStore:
    rows = [f"step={i} seconds=1.2 rank={rank} spread=1.5" for i, rank in enumerate(ranks)]
    return FactStore([Fact("series.row", row) for row in rows])


def test_one_rank_that_is_always_slow_is_named() -> None:
    found = values([*derive(table((3, 3, 3, 3, 1)))])
    assert (found["run.slowest_rank"], found["run.slowest_rank_share"]) == (3, 0.8)


def test_a_rank_that_changes_has_a_small_share() -> None:
    assert values([*derive(table((0, 1, 2, 3)))])["run.slowest_rank_share"] == 0.25


def test_rows_become_progress_lines() -> None:
    assert [event.fields["step_time_s"] for event in steps(table((0, 1)))] == [1.2, 1.2]


def test_steps_that_nobody_holds_up_say_nothing() -> None:
    rows = [f"step={i} seconds=1.2 rank={i} spread=1.02" for i in range(5)]
    assert [*derive(FactStore([Fact("series.row", row) for row in rows]))] == []


def test_rows_of_somebody_else_end_nothing() -> None:
    rows = ["x" * 50_000, "step=e.+ seconds=1", "step=1e999 seconds=1", "step=1 seconds=", "step=2 seconds=1.5"]
    assert [event.fields["step"] for event in steps(FactStore([Fact("series.row", row) for row in rows]))] == [2]
