"""Groups of a layout measured over ranks that answer as on a simulated network."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from math import exp

import pytest

from probes.live.collectives.channel import Json, RanksLost
from probes.live.collectives.grouped import GroupTest
from probes.live.collectives.layout import Layout

WORLD = 8
CALL = 0.02
"""Seconds of a call over a good path."""

Pace = Callable[[tuple[int, ...], float], float]


class Network:
    """Eight hosts of one rank each; `pace` says how many times as long a call of the members takes at a time."""

    def __init__(self, pace: Pace, until: float = float("inf")) -> None:
        self.clock, self.pace, self.until = 0.0, pace, until
        self.members: dict[tuple[int, str], tuple[int, ...]] = {}
        self.noise = random.Random(7)

    def ask(self, orders: Mapping[int, Json]) -> dict[int, Json]:
        if self.clock > self.until:
            raise RanksLost([], "the time was over")
        answers: dict[int, Json] = {}
        lasted = 0.0
        for rank, order in orders.items():
            if order["do"] == "group":
                self.members[rank, order["group"]] = tuple(order["members"])
                answers[rank] = {}
                continue
            members = self.members[rank, order["group"]]
            seconds = CALL * self.pace(members, self.clock) * exp(self.noise.gauss(0, 0.03))
            answers[rank] = {"seconds": [seconds], "wrong": 0, "bytes": order["bytes"]}
            lasted = max(lasted, seconds * order["calls"])
        self.clock += lasted
        return answers


def measured(pace: Pace, until: float = float("inf")) -> GroupTest:
    network = Network(pace, until)
    payloads = dict.fromkeys(("TP", "PP", "DP", "EP", "CP", "EDP"), 1 << 20)
    test = GroupTest(range(WORLD), network.ask, lambda text, size: None, payloads, judging=True)
    groups = Layout(tp=2, pp=2).groups(WORLD)
    if until < float("inf"):
        with pytest.raises(RanksLost):
            test.measure(groups)
    else:
        test.measure(groups)
    return test


def blames(test: GroupTest) -> list[tuple[str, tuple[int, ...]]]:
    return [(blame.kind, blame.ranks) for blame in test.blames()]


def path(one: int, other: int) -> Pace:
    return lambda members, clock: 2.5 if {one, other} <= set(members) else 1.0


def test_a_path_that_stays_slow_is_named() -> None:
    assert blames(measured(path(1, 5))) == [("link", (1, 5))]


@pytest.mark.parametrize("begin", [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("lasts", [0.7, 1.5, 2.5])
def test_what_disturbs_a_group_for_a_while_is_not_blamed(begin: float, lasts: float) -> None:
    def disturbed(members: tuple[int, ...], clock: float) -> float:
        passing = 3.0 if {4, 6} <= set(members) and begin <= clock < begin + lasts else 1.0
        return max(passing, path(1, 5)(members, clock))

    assert blames(measured(disturbed)) == [("link", (1, 5))]


def test_what_was_slow_once_is_not_judged_where_the_time_ended_before_it_was_measured_again() -> None:
    whole = Network(path(1, 5))
    test = GroupTest(range(WORLD), whole.ask, lambda text, size: None, dict.fromkeys(("TP", "PP", "DP"), 1 << 20), True)
    test.measure(Layout(tp=2, pp=2).groups(WORLD))
    short = measured(path(1, 5), until=whole.clock - 0.5)
    assert len(short.rows) == len(test.rows)
    assert blames(short) == []
    assert {row.group.role for row in short.rows if not row.usual} == {"PP"}
    assert {row.group.role for row in short.rows if row.usual} == {"TP", "DP"}
