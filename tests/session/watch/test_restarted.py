"""What was told before pdoctor was started again: over when the job recovered meanwhile, and told anew later."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

from doctor.session.watch.telling import Teller
from tests.session.watch.replay import BEGIN, Replay

OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB.\n"


class Job:
    """One log whose steps take two seconds each; the time of the file is that of the replay."""

    def __init__(self, folder: Path) -> None:
        self.replay, self.path, self.numbers = Replay(folder), folder / "job.log", count(1)

    def write(self) -> None:
        number = next(self.numbers)
        self.replay.write("job.log", f"step {number} loss {2 - number * 0.001:.3f} time 2000.0ms\n")
        os.utime(self.path, (self.replay.now, self.replay.now))

    def steps(self, many: int) -> None:
        for _ in range(many):
            self.write()
            self.replay.turn(2.0)

    def silence(self, seconds: int) -> None:
        self.replay.turns(seconds // 20, 20.0)

    def restart(self, seconds: float = 60.0) -> None:
        before = self.replay
        self.replay = Replay(before.folder, kept=before.watch.kept(), loaded=before.loaded, now=before.now + seconds)


@pytest.fixture
def silent(tmp_path: Path) -> Job:
    """A job that stands still, which was told."""
    job = Job(tmp_path)
    job.steps(60)
    job.silence(600)
    assert job.replay.keys() == ["new LIV001"]
    return job


def test_a_job_that_recovered_meanwhile_is_told_to_have_and_so_is_its_next_silence(silent: Job) -> None:
    for _ in range(30):
        silent.write()
    silent.restart()
    silent.steps(60)
    assert silent.replay.keys() == ["resolved LIV001"]
    silent.silence(4000)
    assert silent.replay.keys() == ["resolved LIV001", "updated LIV001"]


def test_a_silence_that_goes_on_is_not_told_again(silent: Job) -> None:
    for _ in range(2):
        silent.restart()
        silent.silence(600)
        assert silent.replay.keys() == []
    silent.steps(60)
    assert silent.replay.keys() == ["resolved LIV001"]


def test_a_failure_whose_log_was_rotated_away_is_neither_over_nor_new(tmp_path: Path) -> None:
    first = Replay(tmp_path)
    first.write("rank3.log", OOM)
    first.turns(2)
    told = first.keys()
    assert len(told) == 1
    (tmp_path / "rank3.log").unlink()
    first.write("rank0.log", "[rank0]: step 1 loss 2.5\n")
    second = Replay(tmp_path, kept=first.watch.kept())
    second.turns(20)
    assert second.keys() == []
    second.write("rank3.log", OOM)
    second.turns(2)
    assert second.keys() == [key.replace("new", "updated") for key in told]


def test_nothing_is_over_before_all_is_read_again(silent: Job) -> None:
    kept = silent.replay.watch.kept()
    silent.steps(3)
    report = silent.replay.watch.report
    assert report is not None
    teller = Teller(kept.told)
    for whole, after in ((False, 0), (False, 60), (True, 120), (False, 124)):
        assert list(teller.say(report, BEGIN + after, None, whole=whole)) == []
    (said,) = teller.say(report, BEGIN + 126, None)
    assert said.text_key == "LIV001"
