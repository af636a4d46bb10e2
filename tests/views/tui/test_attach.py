"""A job that is watched shows how it stands and what goes wrong while a person looks, and disturbs nobody who reads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.watch.ending import Ending
from doctor.session.watch.follow import follow
from doctor.session.watch.source import Watched
from doctor.session.watch.watch import Watch
from doctor.views.tui.watching import event_key
from tests.session.watch.test_watch import OOM, RESET, steps
from tests.views.tui.walker import Walker, walk

RAISED = """[rank2]: Traceback (most recent call last):
[rank2]:   File "/job/train.py", line 12, in main
[rank2]: ValueError: token id 50257 is out of range of the vocabulary
"""


class Job:
    """A folder of logs that grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "logs"
        self.folder.mkdir()
        for rank in range(4):
            self.write(f"rank{rank}.log", steps(rank, 1, 30))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)


def watch(job: Job, act: Callable[[Walker], Awaitable[None]], pid: int = 0, **how: object) -> None:
    """Watches the job on a screen while `act` does what it does; `how` as of `walk`."""
    following = follow([str(job.folder)], [pid] if pid else ())
    loaded = load_rulebase(())
    watched = Watch(loaded, following.follower, following.roots)
    source = Watched(watched, following, Ending(following), [str(job.folder)], 0.05, lambda said: None)
    try:
        walk(act, folder=job.folder.parent, source=source, **how)  # type: ignore[arg-type]
    finally:
        source.stop()
        following.follower.close()


async def begun(person: Walker) -> None:
    """The watch goes on, and its list is there."""
    await person.until(lambda: person.app.watching and person.app.watching.standing and person.step == "findings")


def bar(person: Walker) -> list[str]:
    """The two lines on how the job stands."""
    return person.screen.splitlines()[1:3]


def new(person: Walker) -> list[str]:
    assert person.app.watching is not None
    return list(person.app.watching.new)


def test_how_the_job_stands_is_kept_current(tmp_path: Path) -> None:
    job = Job(tmp_path)

    async def act(person: Walker) -> None:
        await begun(person)
        await person.until(lambda: "watching · 4 ranks · step 29" in bar(person)[0])
        assert "nothing wrong so far" in bar(person)[0]
        assert "last line" in bar(person)[1] and "116 lines, 4 files" in bar(person)[1]
        for rank in range(4):
            job.write(f"rank{rank}.log", steps(rank, 30, 45))
        await person.until(lambda: "step 44" in bar(person)[0])

    watch(job, act)


def test_it_fits_a_small_screen_in_chinese(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await begun(person)
        await person.until(lambda: "监视中 · 4 个 rank · 第 29 步" in bar(person)[0])
        assert bar(person)[0].rstrip().endswith("…")
        assert "最后一行在" in bar(person)[1]

    watch(Job(tmp_path), act, lang="zh", size=(60, 20))


def test_a_failure_is_news_until_it_was_looked_at(tmp_path: Path) -> None:
    job = Job(tmp_path)

    async def act(person: Walker) -> None:
        await begun(person)
        await person.press("7")
        job.write("rank2.log", OOM)
        await person.until(lambda: new(person))
        (key,) = new(person)
        assert "2 Findings ●1" in person.screen
        await person.press("2")
        await person.until(lambda: "1 new since" in bar(person)[1])
        assert f"●✗ {key.removeprefix('rule ')}" in person.screen
        assert "1 finding" in bar(person)[0]
        await person.press("full_stop")
        assert person.rows("#list").key == key
        assert new(person) == [] and "●" not in person.screen
        await person.until(lambda: "last line" in bar(person)[1])

    watch(job, act)


def test_who_reads_is_not_disturbed(tmp_path: Path) -> None:
    job = Job(tmp_path)

    async def act(person: Walker) -> None:
        await begun(person)
        rows = person.rows("#list")
        await person.press("G")
        await person.press("k")
        key, line = rows.key, rows.cursor - int(rows.scroll_offset.y)
        assert rows.scroll_offset.y > 0
        job.write("rank2.log", OOM)
        await person.until(lambda: new(person))
        await person.until(lambda: any(row.key in new(person) for row in rows.rows))
        assert (rows.key, rows.cursor - int(rows.scroll_offset.y)) == (key, line)
        await person.until(lambda: "1 new since" in bar(person)[1])

    watch(job, act, size=(80, 9))


def test_who_has_chosen_nothing_sees_what_is_new(tmp_path: Path) -> None:
    job = Job(tmp_path)

    async def act(person: Walker) -> None:
        await begun(person)
        assert "comes to the top" in person.page("#about")
        job.write("rank2.log", RAISED)
        await person.until(lambda: new(person))
        assert person.rows("#list").key == new(person)[0]
        assert "a failure that no rule explains" in bar(person)[0]
        assert "rank 2  [rank2]: ValueError: token id 50257" in person.screen
        await person.press("enter")
        assert person.step == "finding" and new(person) == []
        assert "token id 50257" in person.screen

    watch(job, act, size=(140, 30))


def test_a_remark_is_seen_until_it_was_read(tmp_path: Path) -> None:
    job = Job(tmp_path)

    async def act(person: Walker) -> None:
        await begun(person)
        (job.folder / "rank3.log").unlink()
        await person.until(lambda: "rank3.log: is gone" in bar(person)[1])
        await person.press("t")
        assert "the latest first" in person.screen and "rank3.log: is gone" in person.screen
        await person.press("escape")
        await person.until(lambda: "last line" in bar(person)[1])

    watch(job, act)


def test_it_says_how_the_job_has_ended_and_the_list_stays(tmp_path: Path) -> None:
    job = Job(tmp_path)
    program = f"import sys; sys.stdin.readline(); print({OOM!r}, flush=True)"
    with (job.folder / "launcher.log").open("w") as out:
        process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=out)
    assert process.stdin is not None
    end = process.stdin

    async def act(person: Walker) -> None:
        await begun(person)
        end.write(b"\n")
        end.close()
        process.wait()
        await person.until(lambda: "■" in bar(person)[0])
        assert "the job has ended: its processes are gone" in bar(person)[0]
        assert person.app.session is not None and person.app.session.report.diagnosis.roots

    watch(job, act, process.pid)


def test_earlier_attempts_stay_in_sight(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.write("attempt_0/2/stderr.log", OOM)

    async def act(person: Walker) -> None:
        await begun(person)
        job.write("attempt_1/2/stderr.log", steps(2, 1, 20))
        await person.until(lambda: "↺ attempt 0: 1 root cause" in person.screen)
        await person.until(lambda: "attempt 1" in bar(person)[0])
        await person.until(lambda: "rank 2" in person.page("#about"))

    watch(job, act, size=(140, 30))


def test_what_is_no_longer_in_the_list_is_no_news(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.write("attempt_0/2/stderr.log", steps(2, 1, 20))

    async def act(person: Walker) -> None:
        await begun(person)
        await person.press("7")
        job.write("attempt_0/2/stderr.log", RAISED)
        await person.until(lambda: [key.partition(" ")[0] for key in new(person)] == ["event"])
        job.write("attempt_1/2/stderr.log", steps(2, 1, 20))
        await person.until(lambda: new(person) == [])
        await person.press("2")
        await person.until(lambda: "attempt 1" in bar(person)[0] and "last line" in bar(person)[1])

    watch(job, act)


def test_a_file_that_is_added_is_followed_too(tmp_path: Path) -> None:
    job = Job(tmp_path)
    further = tmp_path / "elsewhere.log"
    further.write_text(OOM)

    async def act(person: Walker) -> None:
        await begun(person)
        person.app.add(str(further))
        await person.until(lambda: new(person))
        assert person.step == "findings"

    watch(job, act)


@pytest.mark.parametrize("size", [(60, 20), (140, 30)])
def test_many_messages_after_a_failure_are_no_news(tmp_path: Path, size: tuple[int, int]) -> None:
    job = Job(tmp_path)

    async def act(person: Walker) -> None:
        await begun(person)
        job.write("rank2.log", OOM)
        await person.until(lambda: new(person))
        for rank in (0, 1, 3):
            job.write(f"rank{rank}.log", RESET.format(rank=rank) * 40)
        await person.until(lambda: "120" in str(person.app.watching and person.app.watching.told))
        assert len(new(person)) == 1

    watch(job, act, size=size)


def test_a_line_has_a_row_of_its_own() -> None:
    from doctor.facts.model import Source

    assert event_key(Source("log", "rank2.log", 7)) != event_key(Source("log", "rank2.log", 70))
