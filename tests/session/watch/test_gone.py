"""A rank that says nothing while the others lost it: it is given the time to say what has happened to it."""

from __future__ import annotations

from pathlib import Path

from doctor.session.watch.model import Kind
from doctor.session.watch.telling import LOST_ONLY
from tests.session.watch.replay import Replay
from tests.session.watch.test_watch import OOM, steps

CLOSED = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer"
    " [127.0.0.1]:11962. This is typically caused by a remote worker crashing.\n"
)
LAUNCHER = (
    "E0102 03:05:01.120000 4100 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1)"
    " local_rank: 0 (pid: 4242) of binary: /usr/bin/python3\n"
)


def lost(folder: Path) -> Replay:
    """Ranks 0, 1 and 3 of a job lost rank 2 a moment ago."""
    replay = Replay(folder)
    for rank in range(4):
        replay.write(f"rank{rank}.log", steps(rank, 1, 20))
    replay.turns(8)
    assert replay.said == []
    for rank in (0, 1, 3):
        replay.write(f"rank{rank}.log", f"[rank{rank}]: {CLOSED}")
    return replay


def told_after(replay: Replay, seconds: int) -> int | None:
    """Seconds until HNG056 is told."""
    for second in range(1, seconds + 1):
        if any(said.text_key == "HNG056" for said in replay.turn()):
            return second
    return None


def test_a_rank_that_says_what_happened_some_seconds_later_is_not_said_to_be_gone(tmp_path: Path) -> None:
    replay = lost(tmp_path)
    assert told_after(replay, 5) is None
    replay.write("rank2.log", OOM)
    assert told_after(replay, 30) is None
    (said,) = replay.said
    assert said.kind is Kind.NEW and said.text_key.startswith("MEM")


def test_one_that_says_nothing_is_told(tmp_path: Path) -> None:
    told = told_after(lost(tmp_path), 30)
    assert told is not None and LOST_ONLY <= told <= LOST_ONLY + 3


def test_it_is_told_as_soon_as_the_launcher_has_spoken(tmp_path: Path) -> None:
    replay = lost(tmp_path)
    assert told_after(replay, 3) is None
    replay.write("launcher.log", LAUNCHER)
    told = told_after(replay, 30)
    assert told is not None and told <= 4
