"""How long a silence may last: what was usual counts, and before anything is, the time-out."""

from __future__ import annotations

from pytest import approx

from doctor.facts.vitals.pulse import Patience, Pulse, allowed, patience


def beaten(*gaps: float, stamped: bool = False, printed: float | None = None) -> Pulse:
    pulse, now = Pulse(), 0.0
    pulse.beat(now, now if stamped else None, printed)
    for gap in gaps:
        now += gap
        pulse.beat(now, now if stamped else None, printed)
    return pulse


def test_the_usual_gap_is_the_median() -> None:
    assert beaten(2.0, 2.1, 60.0, 1.9, 2.0).usual == approx(2.0)


def test_lines_read_at_once_have_the_rhythm_of_their_stamps_or_of_what_they_print() -> None:
    pulse = Pulse()
    for number in range(20):
        pulse.beat(1000.0, 5.0 * number, None)
    assert pulse.usual == 5.0
    pulse = Pulse()
    for _ in range(20):
        pulse.beat(1000.0, None, 7.0)
    assert pulse.usual == 7.0


def test_lines_that_a_buffer_holds_back_come_as_rarely_as_the_buffer_is_full() -> None:
    pulse = Pulse()
    for block in range(10):
        for _ in range(30):
            pulse.beat(60.0 * block, None, 2.0)
    assert pulse.usual == 60.0


def test_the_first_gaps_are_compilation_and_no_pauses() -> None:
    assert beaten(300.0, 200.0, *[2.0] * 20).longest == 0


def test_a_slow_step_is_no_pause() -> None:
    assert beaten(*[2.0] * 20, 12.0, *[2.0] * 20).longest == 0


def test_a_pause_without_a_word() -> None:
    assert beaten(*[2.0] * 20, 50.0, *[2.0] * 20).longest == 50.0


def test_each_kind_of_pause_is_known_by_itself() -> None:
    pulse = beaten(*[2.0] * 20)
    pulse.milestone(40.0, None, "save")
    assert pulse.longest == 0
    pulse.milestone(70.0, None, "")
    pulse.beat(72.0, None, None)
    pulse.milestone(72.0, None, "eval")
    assert pulse.longest == 0  # checkpoints of half a minute say nothing of an evaluation
    pulse.beat(472.0, None, None)
    pulse.milestone(474.0, None, "save")
    assert pulse.longest == 30.0
    assert pulse.pauses == {"save": 30.0, "eval": 400.0}


def test_pauses_of_lines_read_at_once_are_told_by_their_stamps() -> None:
    pulse = Pulse()
    for number in range(10):
        pulse.beat(1000.0, 2.0 * number, None)
    pulse.milestone(1000.0, 18.0, "save")
    pulse.milestone(1000.0, 60.0, "")
    assert pulse.pauses == {"save": 42.0}


def test_of_an_unknown_silence_the_timeout_tells_when_it_is_long() -> None:
    assert allowed(2.0, 0.0, 600.0) == 450.0
    assert allowed(2.0, 0.0, 600.0, announced=True) == 450.0
    assert allowed(0.2, 0.0, 20.0) == 15.0
    assert allowed(2.0, 50.0, 600.0) == 450.0


def test_an_announced_pause_may_last_three_times_as_long_as_before() -> None:
    assert allowed(2.0, 50.0, 600.0, announced=True) == 150.0
    assert allowed(2.0, 5.0, 600.0, announced=True) == 60.0
    assert allowed(2.0, 200.0, 600.0, announced=True) == 450.0


def test_the_first_pause_of_its_kind_stays_in_doubt() -> None:
    assert patience(2.0, 0.0, 600.0, announced=True) == Patience(450.0, 1800.0)
    assert patience(2.0, 0.0, 600.0) == Patience(450.0, 450.0)  # nobody said that it is a pause
    assert patience(200.0, 0.0, 600.0, announced=True) == Patience(600.0, 1800.0)


def test_an_announced_pause_may_last_three_times_as_long_as_the_one_before() -> None:
    assert patience(2.0, 200.0, 600.0, announced=True) == Patience(450.0, 600.0)
    assert patience(200.0, 5.0, 600.0, announced=True) == Patience(600.0, 600.0)


def test_pauses_as_long_as_others_are_told_in_doubt_before_the_time_out_strikes() -> None:
    assert patience(2.0, 400.0, 600.0) == Patience(540.0, 800.0)
    assert patience(2.0, 400.0, 600.0, announced=True) == Patience(540.0, 1200.0)
    assert patience(2.0, 250.0, 600.0) == Patience(500.0, 500.0)
    assert patience(2.0, 50.0, 600.0, announced=True) == Patience(150.0, 150.0)  # nothing explains three times as long


def test_the_bar_of_an_evaluation_is_a_sign_of_life_and_ends_no_pause() -> None:
    pulse = beaten(*[2.0] * 20)
    pulse.milestone(40.0, None, "eval")
    for now in range(41, 541):
        pulse.goes_on(float(now))
    assert (pulse.alive, pulse.phase, pulse.longest) == (540.0, "eval", 0.0)
    pulse.beat(545.0, None, None)
    assert pulse.pauses == {"eval": 505.0}


def test_a_pause_longer_than_the_timeout_is_usual_too() -> None:
    assert allowed(2.0, 900.0, 600.0) == 1800.0


def test_lines_that_come_rarely_may_be_missed_for_longer() -> None:
    assert allowed(200.0, 0.0, 600.0) == 600.0
