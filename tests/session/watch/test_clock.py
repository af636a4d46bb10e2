from __future__ import annotations

import time

from doctor.session.watch.clock import steady


def test_a_step_of_the_clock_does_not_show() -> None:
    wall, even = [1_770_000_000.0], [50.0]
    clock = steady(lambda: wall[0], lambda: even[0])
    assert clock() == 1_770_000_000.0
    wall[0] -= 3600.0
    even[0] += 2.0
    assert clock() == 1_770_000_002.0


def test_it_begins_with_the_time_of_day() -> None:
    assert abs(steady()() - time.time()) < 60.0
