"""When a watch judges again: failures at once, calm news rarely, and never more than its share of a core for long."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from doctor.session.watch.pace import LEAST, LEAST_CALM, SAVED, SHARE, Pace


def judged(pace: Pace, seconds: float, took: float, hear: Callable[[float], None]) -> list[float]:
    """When `pace` was due, looked at four times a second, if a judgement takes `took` seconds."""
    times = []
    for turn in range(int(seconds * 4)):
        at = turn / 4
        hear(at)
        if pace.due(at):
            pace.judged(at, took)
            times.append(at)
    return times


def test_nothing_heard_nothing_judged() -> None:
    assert judged(Pace(), 60, 0.1, lambda at: None) == []


def test_a_failure_is_judged_at_once_also_right_after_calm_news() -> None:
    pace = Pace()
    pace.heard(False)
    assert pace.due(0.0)
    pace.judged(0.0, 0.9)
    pace.heard(True)
    assert not pace.due(LEAST / 2)
    assert pace.due(LEAST)


def test_calm_news_waits() -> None:
    pace = Pace()
    times = judged(pace, 60, 0.2, lambda at: pace.heard(False))
    assert all(after - before >= LEAST_CALM for before, after in pairwise(times))
    assert len(times) >= 60 / LEAST_CALM - 1


def test_a_storm_takes_what_was_saved_and_then_its_share() -> None:
    pace, seconds, took = Pace(), 600, 0.9
    times = judged(pace, seconds, took, lambda at: pace.heard(True))
    assert times[:3] == [0.0, LEAST, 2 * LEAST]
    assert len(times) * took <= SAVED + SHARE * seconds + took


def test_where_judging_takes_long_a_failure_still_goes_before_calm_news() -> None:
    pace = Pace()
    times = judged(pace, 100, 2.5, lambda at: pace.heard(False))
    assert times[:2] == [0.0, 12.5]
    at = times[-1] + LEAST
    pace.heard(True)
    assert pace.due(at)


def test_a_clock_that_goes_back_saves_nothing() -> None:
    pace = Pace()
    for at in (100.0, 99.0, 98.0):
        pace.heard(True)
        if pace.due(at):
            pace.judged(at, 1.5)
    pace.heard(True)
    assert not pace.due(98.5)
