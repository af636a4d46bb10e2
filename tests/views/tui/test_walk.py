"""From a dead job to the patch of its launch script."""

from __future__ import annotations

import os
import tarfile
import time
from pathlib import Path
from threading import Event

import pytest

from doctor.session.analyze import Material
from doctor.session.inputs import InputError
from doctor.session.item import Item, Told
from doctor.session.notes import Note
from doctor.session.saved import Saved
from probes.node.interface.host import run
from tests.views.tui.walker import SAMPLE, Walker, walk

ROOT, FIX = "HNG009", "HNG009:lower-memory"


def test_with_the_keyboard_alone(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        assert person.step == "collect"
        seen = []
        while person.step != "change":
            seen.append(person.step)
            await person.press("n")
        assert seen == ["collect", "findings", "finding", "question", "plan"]
        await person.press("w")

    walk(act, folder=tmp_path)
    patch = (tmp_path / "pdoctor-fix.patch").read_text()
    assert "+++ b/train.sh" in patch
    assert "+    --micro-batch-size 2" in patch


def test_with_the_mouse_alone(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.click_step(2)
        await person.click_row("#list", f"rule {ROOT}")
        assert person.step == "finding"
        await person.click_step(5)
        taken = person.app.session and person.app.session.taken
        assert taken
        await person.click_row("#remedies", taken[0])
        assert person.app.session and taken[0] not in person.app.session.taken
        await person.click_row("#remedies", taken[0])
        await person.click_step(6)
        await person.pilot.click("FooterKey")
        await person.pilot.pause()

    walk(act, folder=tmp_path)
    assert (tmp_path / "pdoctor-fix.patch").exists()


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_in_chinese_on_a_small_and_a_large_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async def act(person: Walker) -> None:
        assert "收集" in person.screen
        await person.press("n", "n")
        assert "位置" in person.page("#story")
        await person.press("n", "n", "n", "w")

    walk(act, folder=tmp_path, lang="zh", size=size)
    assert (tmp_path / "pdoctor-fix.patch").exists()


def test_nothing_that_is_there_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "pdoctor-fix.patch").write_text("mine")

    async def act(person: Walker) -> None:
        await person.press("6", "w")

    walk(act, folder=tmp_path)
    assert (tmp_path / "pdoctor-fix.patch").read_text() == "mine"
    assert "micro-batch-size" in (tmp_path / "pdoctor-fix-2.patch").read_text()


def test_answers_change_the_ranking_and_going_back_loses_nothing(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("4")
        before = person.page("#about")
        session = person.app.session
        await person.press("enter")
        assert person.app.session is not session
        assert person.page("#about") != before
        answers = person.app.session and person.app.session.answers.keys
        assert answers
        await person.press("b")
        assert person.step == "collect"
        await person.press("4")
        assert person.app.session and person.app.session.answers.keys == answers
        await person.press("u")
        assert person.app.session is session

    walk(act, folder=tmp_path)


def test_a_remedy_that_is_dropped_leaves_the_change(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("5")
        assert "[x]" in person.screen
        await person.press("space", "6")
        assert "--micro-batch-size" not in person.page("#change")
        await person.press("b", "space", "6")
        assert "--micro-batch-size" in person.page("#change")

    walk(act, folder=tmp_path)


def test_the_log_opens_at_the_evidence(tmp_path: Path) -> None:
    from doctor.views.tui.widgets.log_pane import LogPane

    async def act(person: Walker) -> None:
        await person.press("3")
        await person.until(lambda: person.app.screen.query_one(LogPane).marked)
        assert person.app.screen.query_one(LogPane).marked == 10
        assert "▶" in person.screen

    walk(act, folder=tmp_path)


def test_a_packed_log_opens_at_the_evidence_too(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "job.tar.gz", "w:gz") as archive:
        archive.add(SAMPLE, "job")

    async def act(person: Walker) -> None:
        await person.press("3")
        await person.until(lambda: "▶    10" in person.screen)
        assert "  9 2026-03-14" in person.screen

    walk(act, (str(tmp_path / "job.tar.gz"),), folder=tmp_path)


def test_the_language_changes_on_the_way(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("2", "f2")
        await person.until(lambda: "结论" in person.screen)
        assert person.step == "findings"
        await person.press("n")
        assert person.step == "finding"
        await person.press("f2")
        await person.until(lambda: "Proof" in person.screen)

    walk(act, folder=tmp_path)


def test_a_filter_leaves_what_holds_the_words(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("2", "slash", *"mem", "enter")
        rows = person.rows("#list").rows
        assert rows
        assert all("mem" in row.words.lower() for row in rows)

    walk(act, folder=tmp_path)


def test_escape_takes_the_filter_away_before_it_leaves(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("2")
        count = len(person.rows("#list").rows)
        await person.press("slash", *"mem")
        assert "“mem”" in person.screen
        await person.press("escape")
        assert (person.step, len(person.rows("#list").rows)) == ("findings", count)
        await person.press("escape")
        assert person.step == "collect"

    walk(act, folder=tmp_path)


def test_the_walk_leads_on_to_what_the_cursor_stands_on(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("n", "down", "n")
        assert "HNG001" in person.page("#story").splitlines()[0]
        await person.press("b", "up", "n")
        assert ROOT in person.page("#story").splitlines()[0]

    walk(act, folder=tmp_path)


def test_what_no_rule_explains_is_shown_in_its_log_and_steps_without_content_are_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    trace = 'Traceback (most recent call last):\n  File "train.py", line 9, in main\n    frobnicate(x)\n'
    log.write_text("step 1\n" * 40 + trace + "FrobError: the gizmo is not aligned\n")

    async def act(person: Walker) -> None:
        await person.press("n", "enter")
        assert person.step == "finding"
        await person.until(lambda: "▶    44 FrobError" in person.screen)
        await person.press("n")
        assert person.step == "export"

    walk(act, (str(log),), folder=tmp_path)


def test_the_line_of_evidence_is_shown_whole(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("step 1\n" * 9 + f"RuntimeError: CUDA error: out of memory {'x ' * 90}end\nlast\n")

    async def act(person: Walker) -> None:
        await person.press("3", "tab", "tab")
        await person.until(lambda: "▶    10" in person.screen)
        lines = person.screen.splitlines()
        first = next(number for number, line in enumerate(lines) if "▶    10" in line)
        last = next(number for number, line in enumerate(lines) if "x end" in line)
        assert last > first
        assert "   11 last" in lines[last + 1]

    walk(act, (str(log),), folder=tmp_path, size=(80, 40))


def test_every_command_of_the_palette_says_what_it_does(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        for step in "1234567":
            await person.press(step)
            commands = list(person.app.get_system_commands(person.app.screen))
            assert len(commands) > 12
            assert all(command.title and command.help for command in commands)

    walk(act, folder=tmp_path)


def test_a_path_that_is_not_there_is_said_and_another_can_be_added(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        assert person.app.failure
        assert "nowhere" in person.screen
        await person.press("a", *str(SAMPLE), "enter")
        await person.until(lambda: person.app.session)
        await person.press("n")
        assert ROOT in person.screen

    walk(act, (str(tmp_path / "nowhere"),), folder=tmp_path)


def test_a_saved_session_goes_on_where_it_was(tmp_path: Path) -> None:
    async def first(person: Walker) -> None:
        await person.press("4", "enter", "5", "space")
        kept.append(person.app.saved())

    kept: list[Saved] = []
    before = walk(first, folder=tmp_path)
    saved = kept[0]
    assert saved.step == "plan"

    async def again(person: Walker) -> None:
        await person.until(lambda: person.step == "plan")
        assert person.app.session
        assert person.app.session.taken == (before.session and before.session.taken)
        assert person.app.session.answers.keys == saved.answers.keys

    walk(again, folder=tmp_path, saved=saved)


def test_leaving_in_the_middle_of_a_probe_leaves_no_process(tmp_path: Path) -> None:
    source = Slow()

    async def act(person: Walker) -> None:
        await person.until(lambda: source.started() and running(source.seconds))
        await person.press("q")

    walk(act, folder=tmp_path, source=source, ready=False)
    end = time.monotonic() + 60
    while running(source.seconds):
        assert time.monotonic() < end, "the probe's program is still there"
        time.sleep(0.05)


class Slow:
    """A probe that asks a program which gives no answer."""

    paths: tuple[str, ...] = ()
    node = True
    seconds = f"3077.{os.getpid()}"
    """Which no other test sleeps for at the same time."""

    def __init__(self) -> None:
        self._told = False

    def started(self) -> bool:
        return self._told

    def collect(self, told: Told) -> Material:
        told(Item("gpu"))
        self._told = True
        run(["sleep", self.seconds], 3000)
        raise AssertionError("was not ended")

    def skip(self, name: str) -> None: ...

    def adding(self, path: str) -> Slow:
        return self


def running(seconds: str) -> bool:
    """Is a `sleep` of so many seconds there?"""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().split(b"\0")[:2] == [b"sleep", seconds.encode()]:
                return True
        except OSError:
            continue
    return False


def test_probes_are_seen_while_they_run_and_a_slow_one_is_skipped(tmp_path: Path) -> None:
    source = Patient()

    async def act(person: Walker) -> None:
        await person.until(lambda: "stacks" in person.screen)
        assert "of 30 s" in person.screen and "skip" in person.screen
        await person.press("down", "s")
        await person.until(lambda: person.app.failure)
        assert "skip" not in person.screen.splitlines()[-1]

    walk(act, folder=tmp_path, source=source, ready=False)
    assert source.skipped == ["stacks"]


class Patient(Slow):
    """Waits for its second probe until that is skipped."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped: list[str] = []
        self._gone_on = Event()

    def collect(self, told: Told) -> Material:
        told(Item("gpu", "done", 0.1))
        told(Item("stacks", most=30.0))
        self._gone_on.wait(60)
        raise InputError(Note("input.missing", "nowhere"))

    def skip(self, name: str) -> None:
        self.skipped.append(name)
        self._gone_on.set()


def test_what_a_log_holds_stays_in_its_pane(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    nasty = "\x1b[2J\x1b[H\x1b]0;owned\x07[bold]x[/bold] \u202e\x9b31m"
    log.write_text(f"[rank0]: torch.OutOfMemoryError: CUDA out of memory. {nasty} Tried to allocate 2.00 GiB.\n" * 3)

    async def act(person: Walker) -> None:
        for step in "1234567":
            await person.press(step)
            assert not set("\x1b\x07\x9b\u202e") & set(person.screen)
            assert "pdoctor" in person.screen.splitlines()[0]

    walk(act, (str(log),), folder=tmp_path)
