"""Who says twice that a watch shall end."""

from __future__ import annotations

import signal

import pytest

from doctor.cli.stop import Stop, stoppable


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_may_come_twice(number: int) -> None:
    with stoppable() as stop:
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert stop.asked
    assert signal.getsignal(number) != stop.heard


def test_ctrl_c_again_is_impatience() -> None:
    with stoppable() as stop, pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
        assert stop.asked
        signal.raise_signal(signal.SIGINT)


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert not stop.asked
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_is_to_be_done_is_done_though_it_was_said_before() -> None:
    stop, done = Stop(), []
    stop.then(lambda: done.append("first"))
    stop.heard(signal.SIGTERM)
    stop.then(lambda: done.append("second"))
    assert done == ["first", "second"]
