"""How a watch comes to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from doctor.session.watch.ending import LAST_WORDS, QUIET, End, Ending
from doctor.session.watch.follow import follow


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def ends(ending: Ending, clock: Clock, heard: Callable[[float], bool], seconds: int) -> list[tuple[float, End]]:
    """Looks twice a second for so many seconds: when and how it ended first."""
    begun = clock.now
    for _ in range(seconds * 2):
        if (end := ending.see(heard(clock.now - begun))) is not None:
            return [(clock.now - begun, end)]
        clock.now += 0.5
    return []


def test_a_folder_has_no_end_but_for_the_time_that_was_set(tmp_path: Path) -> None:
    following, clock = follow([str(tmp_path)]), Clock()
    assert ends(Ending(following, clock=clock), clock, lambda at: False, 1000) == []
    assert ends(Ending(following, 12.0, clock=clock), clock, lambda at: True, 100) == [(12.0, End.TIME)]


def test_a_minute_without_a_line_is_an_end_only_where_it_was_asked_for(tmp_path: Path) -> None:
    following, clock = follow([str(tmp_path)]), Clock()
    asked = Ending(following, once_done=True, clock=clock)
    assert ends(asked, clock, lambda at: at < 30, 200) == [(29.5 + QUIET, End.QUIET)]
    nothing_yet = Ending(following, once_done=True, clock=clock)
    assert ends(nothing_yet, clock, lambda at: False, 200) == []


def test_what_a_process_wrote_last_is_waited_for(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL
        )
    following, clock = follow([], [process.pid]), Clock()
    ending = Ending(following, clock=clock)
    assert ends(ending, clock, lambda at: False, 100) == []
    process.communicate(b"\n")
    assert ends(ending, clock, lambda at: at < 5, 100) == [(4.5 + LAST_WORDS, End.PROCESSES)]


def test_a_pipe_ends_when_it_is_closed(tmp_path: Path) -> None:
    mouth, other = os.pipe()
    with os.fdopen(mouth, "rb") as pipe:
        following, clock = follow(["-"], stdin=pipe), Clock()
        ending = Ending(following, clock=clock)
        following.follower.turn()
        assert ends(ending, clock, lambda at: False, 100) == []
        os.close(other)
        following.follower.turn()
        following.follower.turn()
        assert [end for _, end in ends(ending, clock, lambda at: False, 100)] == [End.PIPE]
        following.follower.close()
