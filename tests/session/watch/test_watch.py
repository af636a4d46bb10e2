"""What a watched job gives: findings once, as they come, and silence where nothing is wrong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from doctor.session.analyze import analyze_paths
from doctor.session.watch.model import Kind
from doctor.session.watch.telling import ALARMING
from tests.robustness import healthy
from tests.session.watch.replay import Replay

STEP = "[rank{rank}]: 2026-01-02 03:{minute:02d}:{second:02d} - INFO - iteration {step:8d}/ 1000 | elapsed time per iteration (ms): 812.3 | lm loss: 2.1E+00 |\n"
OOM = """[rank2]: Traceback (most recent call last):
[rank2]:   File "/job/train.py", line 12, in main
[rank2]:     loss.backward()
[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.10 GiB of which 1.06 GiB is free. Including non-PyTorch memory, this process has 78.03 GiB memory in use. Of the allocated memory 76.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
"""
RESET = "[rank{rank}]: torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, Connection reset by peer\n"


def steps(rank: int, first: int, last: int) -> str:
    return "".join(
        STEP.format(rank=rank, step=step, minute=4 + step // 60, second=step % 60) for step in range(first, last)
    )


@pytest.mark.parametrize("name", healthy.FORMS)
def test_ten_minutes_of_a_healthy_job_are_silent(name: str, tmp_path: Path) -> None:
    text = healthy.log(healthy.FORMS[name], random.Random(name), warnings=200)
    replay = Replay(tmp_path)
    replay.play({"job.log": text}, turns=60, seconds=10)
    assert [one.text_key for one in replay.said if one.finding is None or one.finding.severity in ALARMING] == []
    assert replay.notes == []


def test_a_finding_is_told_at_once_and_once_with_its_rank(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    for rank in range(4):
        replay.write(f"rank{rank}.log", steps(rank, 1, 20))
    replay.turns(3)
    assert replay.said == []
    replay.write("rank2.log", OOM)
    replay.turns(2)
    (said,) = replay.said
    assert said.finding is not None
    assert (said.kind, said.entities) == (Kind.NEW, ("rank:2",))
    assert said.finding.rule.id.startswith("MEM")
    replay.turns(10)
    assert len(replay.said) == 1


def test_the_first_failing_rank_is_held_on_to_when_the_others_follow(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("job.log", OOM)
    replay.turns(2)
    replay.write("job.log", "".join(RESET.format(rank=rank) for rank in range(1024) if rank != 2))
    replay.turns(6)
    assert [one.entities for one in replay.said] == [("rank:2",)] * len(replay.said)
    kinds = [one.kind for one in replay.said]
    assert kinds[0] is Kind.NEW
    assert len(kinds) <= 3
    assert [one.count for one in replay.said if one.kind is Kind.STORM] in ([], [1023])


def test_in_the_end_it_says_what_reading_the_files_says(tmp_path: Path) -> None:
    watched, saved = tmp_path / "watched", tmp_path / "saved"
    watched.mkdir()
    saved.mkdir()
    texts = {f"rank{rank}.log": steps(rank, 1, 30) + (OOM if rank == 2 else "") for rank in range(4)}
    for name, text in texts.items():
        (saved / name).write_text(text)
    replay = Replay(watched)
    replay.play(texts, 9, 1.0)
    ours, theirs = replay.watch.report, analyze_paths([saved])
    assert ours is not None
    assert [f.rule.id for f in ours.diagnosis.findings] == [f.rule.id for f in theirs.diagnosis.findings]
    assert list(ours.store.events()) == list(theirs.store.events())


def test_each_attempt_of_torchrun_is_an_episode(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("run/attempt_0/2/stderr.log", OOM)
    replay.turns(2)
    replay.write("run/attempt_1/2/stdout.log", steps(2, 1, 20))
    replay.turns(20)
    assert [episode.attempt for episode in replay.watch.episodes] == [0]
    assert replay.watch.report is not None
    assert replay.watch.report.diagnosis.roots == ()
    replay.write("run/attempt_1/2/stderr.log", OOM)
    replay.turns(2)
    assert [(one.kind, one.episode) for one in replay.said] == [(Kind.NEW, None), (Kind.NEW, 1)]


def test_a_failure_that_no_rule_explains_is_told_with_its_rank(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("rank3.log", OOM.replace("rank2", "rank3").split("torch.OutOf")[0] + "ValueError: no such thing\n")
    replay.write("rank1.log", steps(1, 1, 9))
    replay.turns(5)
    assert [(one.kind, one.entities) for one in replay.said] == [(Kind.UNEXPLAINED, ("rank:3",))]


LOGGED = "2026-01-02 03:05:00,101 | ERROR | trainer | training failed\n"
RAISED = """Traceback (most recent call last):
  File "/job/train.py", line 12, in main
    raise ValueError("513 positions")
ValueError: 513 positions
"""


def test_an_exception_that_is_logged_and_raised_again_is_told_with_its_rank(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("job.log", "".join(steps(rank, 1, 20) for rank in range(4)) + LOGGED + RAISED)
    replay.write("job.log", "".join(f"[rank2]: {line}\n" for line in RAISED.splitlines()))
    replay.turns(6)
    (said,) = replay.said
    assert (said.kind, said.entities) == (Kind.UNEXPLAINED, ("rank:2",))


def test_who_was_killed_is_told_as_soon_as_the_launcher_names_the_rank(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("job.log", "".join(steps(rank, 1, 20) for rank in range(4)))
    replay.write(
        "job.log",
        "E0102 03:05:01.101 99 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 77) of binary: python\n",
    )
    replay.turns(2)
    replay.write("job.log", "[0]:\n  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 77)\n")
    replay.turns(3)
    assert [(said.kind, said.entities) for said in replay.said] == [(Kind.NEW, ()), (Kind.UPDATED, ("rank:2",))]


def test_after_a_restart_nothing_is_said_twice_and_nothing_is_lost(tmp_path: Path) -> None:
    first = Replay(tmp_path)
    first.write("rank2.log", OOM)
    first.turns(2)
    assert len(first.said) == 1
    (tmp_path / "rank2.log").rename(tmp_path / "rank2.log.1")
    first.write("rank2.log", "NVRM: Xid (PCI:0000:9c:00): 79, pid=1, GPU has fallen off the bus.\n")
    second = Replay(tmp_path, kept=first.watch.kept())
    second.turns(4)
    told = [one.text_key for one in second.said if one.kind is Kind.NEW]
    assert not any("MEM" in key for key in told)
    assert any("HW" in key for key in told)


def test_a_silent_job_is_told_before_its_time_out_strikes(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("train.sh", "torchrun --nproc_per_node 4 train.py --ddp_timeout 120\n")
    for step in range(1, 40):
        for rank in range(4):
            replay.write(f"rank{rank}.log", steps(rank, step, step + 1))
        replay.turn()
    assert replay.said == []
    last = replay.now
    while not replay.said and replay.now < last + 120:
        replay.turn()
    assert replay.keys() == ["new LIV001"]


def test_a_time_out_that_strikes_does_not_make_the_silence_before_it_good(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    (tmp_path / "train.sh").write_text("torchrun --nproc_per_node 4 train.py --ddp_timeout 40\n")
    for rank in range(4):
        replay.write(f"rank{rank}.log", steps(rank, 1, 60 - (rank == 2)))
    replay.turns(45)
    timed_out = "unbound_buffer.cc:78] Timed out waiting 40000ms for recv operation to complete\n"
    for rank in (0, 1, 3):
        line = f"RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/{timed_out}"
        replay.write(
            f"rank{rank}.log", f'Traceback (most recent call last):\n  File "/job/train.py", line 9, in main\n{line}'
        )
    replay.turns(20)
    told = [(said.kind, said.finding.rule.id, said.entities) for said in replay.said if said.finding]
    assert told == [(Kind.NEW, "LIV001", ("rank:2",)), (Kind.NEW, "HNG057", ("rank:2",))]


def test_how_the_job_stands(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    for step in range(1, 20):
        for rank in range(4):
            replay.write(f"rank{rank}.log", steps(rank, step, step + 1))
        replay.turn()
    status = replay.watch.status()
    assert (status.step, status.ranks_alive, status.files, status.lines) == (19, 4, 4, 76)
    assert status.step_time == pytest.approx(0.8123)
    assert status.findings == 0
