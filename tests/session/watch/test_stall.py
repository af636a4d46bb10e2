"""When a silent job is looked at again, and that its stall is told as soon as it is one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from doctor.facts.model import Fact, Value
from doctor.facts.store import FactStore
from doctor.rulebase.load import load_rulebase
from doctor.session.watch.follow import follow
from doctor.session.watch.stall import stalls_at
from doctor.session.watch.telling import SETTLED
from doctor.session.watch.watch import Watch
from tests.session.watch.replay import Replay

SILENT: dict[str, Value] = {
    "live.silence": 10.0, "live.silent_since": 1000.0, "live.step_gap": 2.0, "live.longest_pause": 0.0,
    "live.timeout": 600.0, "live.stalled": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({}, 1450.0),
        ({"live.timeout": 20.0}, 1015.0),
        ({"live.phase": "save", "live.longest_pause": 50.0}, 1150.0),
        ({"live.silence": 460.0}, 1660.0),  # the time-out is over, and has struck nobody
        ({"live.silence": 661.0, "live.phase": "eval"}, 2800.0),
        ({"live.silence": 545.0, "live.longest_pause": 400.0}, 1660.0),
        ({"live.silence": 661.0}, None),
        ({"live.silent_since": None}, None),
    ],
)
def test_a_silence_is_looked_at_when_there_is_something_else_to_say_of_it(
    change: dict[str, Value | None], at: float | None
) -> None:
    values = {**SILENT, **change}
    assert stalls_at(FactStore([Fact(name, value, "job") for name, value in values.items() if value is not None])) == at


@pytest.mark.parametrize("steps", [57, 60, 63, 66])
def test_a_job_with_a_short_time_out_is_told_silent_before_it_strikes(steps: int, tmp_path: Path) -> None:
    """In turns of a quarter of a second: three quarters of 20 s, then as long as a sign has to hold, and little more."""
    (tmp_path / "train.sh").write_text("torchrun --nproc_per_node 4 train.py --ddp_timeout 20\n")
    log = tmp_path / "train.log"
    log.write_text("")
    now = [1_770_000_000.0]
    following = follow([str(tmp_path)])
    watch = Watch(load_rulebase(), following.follower, following.roots, clock=lambda: now[0])

    def turns(count: int) -> float | None:
        for _ in range(count):
            now[0] += 0.25
            for said in watch.turn().said:
                if said.finding is not None and said.finding.rule.id == "LIV001":
                    return now[0]
        return None

    with log.open("a") as file:
        for step in range(1, steps):
            file.write(f"step {step} loss 2.31 time 0.5s\n")
            file.flush()
            assert turns(2) is None
    last = now[0] - 0.5
    told = turns(120)
    following.follower.close()
    assert told is not None and 15.0 <= told - last <= 15.0 + SETTLED + 1.5


@pytest.mark.parametrize(("ago", "told"), [(460.0, True), (60.0, False), (3 * 3600.0, False)])
def test_a_job_that_was_silent_before_the_watch_began_is_not_given_that_time_again(
    ago: float, told: bool, tmp_path: Path
) -> None:
    """460 s are three quarters of the time-out; after three hours nothing runs there any more."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {step} loss 2.31 time 0.5s\n" for step in range(1, 60)))
    now = [time.time()]
    os.utime(log, (now[0] - ago, now[0] - ago))
    following = follow([str(tmp_path)])
    watch = Watch(load_rulebase(), following.follower, following.roots, clock=lambda: now[0])
    rules = set()
    for _ in range(40):
        rules |= {said.finding.rule.id for said in watch.turn().said if said.finding is not None}
        now[0] += 0.25
    following.follower.close()
    assert ("LIV001" in rules) == told


def test_the_first_evaluation_is_told_as_what_it_may_be_and_teaches_how_long_the_next_may_take(tmp_path: Path) -> None:
    replay = Replay(tmp_path)

    def run(first: int, last: int) -> None:
        for step in range(first, last):
            replay.write("train.log", f"step {step} loss 2.31 time 2.0s\n")
            replay.turns(2)

    run(1, 60)
    for told in (["new LIV012", "resolved LIV012"], []):
        replay.said.clear()
        replay.write("train.log", "***** Running Evaluation *****\n")
        replay.turns(500)
        run(60, 70)
        assert replay.keys() == told


def test_a_checkpoint_that_lasts_far_longer_than_the_one_before_is_no_mere_pause(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    for step in range(1, 60):
        replay.write("train.log", f"step {step} loss 2.31 time 2.0s\n")
        replay.turns(2)
    for seconds in (160, 0):
        replay.write("train.log", "***** Running Evaluation *****\n")
        replay.turns(seconds)
        for step in range(60, 70):
            replay.write("train.log", f"step {step} loss 2.31 time 2.0s\n")
            replay.turns(2)
    replay.write("train.log", "***** Running Evaluation *****\n")
    replay.turns(470)
    assert replay.keys() == ["new LIV012"]
    replay.turns(30)
    assert replay.keys() == ["new LIV012", "new LIV001"]
    silent = replay.watch.report
    assert silent is not None
    assert [finding.rule.id for finding in silent.diagnosis.roots] == ["LIV001"]


def test_an_evaluation_that_draws_its_bar_is_not_silent(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    for step in range(1, 60):
        replay.write("train.log", f"step {step} loss 2.31 time 2.0s\n")
        replay.turns(2)
    replay.write("train.log", "***** Running Evaluation *****\n")
    for done in range(1, 70):
        replay.write("train.log", f"Evaluating:  {done}%|{'#' * 5}     | {done}/100 [00:{done:02d}<01:00,  1.00s/it]\r")
        replay.turns(10)
    assert replay.keys() == []
