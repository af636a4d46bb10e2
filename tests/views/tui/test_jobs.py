"""Three dead jobs, each from its files to a patch of its launch script that applies."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import Material
from doctor.session.collecting import Files, Told
from doctor.views import present
from tests.views.tui.walker import JOBS, Walker, walk


@dataclass(frozen=True)
class Job:
    """`root` is the cause that is right; `gone` and `new` what the patch takes from train.sh and puts there."""

    name: str
    root: str
    gone: tuple[str, ...]
    new: tuple[str, ...]
    words: str
    picture: str


ALL = (
    Job("oom", "HNG009", ("--micro-batch-size 4",), ("--micro-batch-size 2",), "显存溢出", "GPU memory when"),
    Job("hang", "HNG003", ("--ckpt-format torch ",), ("--ckpt-format torch_dist", "--async-save"), "检查点", "[1-7]"),
    Job(
        "slow_moe",
        "MOE020",
        ("--moe-router-load-balancing-type none",),
        ("--moe-router-load-balancing-type aux_loss", "--moe-aux-loss-coeff 0.01"),
        "负载均衡",
        "tokens of the experts",
    ),
)
EACH = pytest.mark.parametrize("job", ALL, ids=[job.name for job in ALL])


@dataclass(frozen=True)
class Read:
    """A job that was read before."""

    name: str
    node: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        return (str(JOBS[self.name]),)

    def collect(self, told: Told) -> Material:
        return material(self.name)

    def adding(self, path: str) -> Read:
        return self


@cache
def material(name: str) -> Material:
    return Files(load_rulebase(()), (str(JOBS[name]),)).collect(lambda item: None)


def applies(job: Job, folder: Path) -> None:
    """The written patch does to a copy of the job what it says, with the tools that a person has."""
    if missing := [tool for tool in ("git", "patch", "bash") if shutil.which(tool) is None]:
        pytest.skip(f"there is no {missing[0]} here to apply the patch with")
    copy = folder / "job"
    shutil.copytree(JOBS[job.name], copy)
    before = (copy / "train.sh").read_text() + " "
    patch = str(folder / "pdoctor-fix.patch")
    for command in (["git", "apply", "--check", patch], ["patch", "-p1", "--dry-run", "-i", patch]):
        subprocess.run(command, cwd=copy, check=True, capture_output=True)
    subprocess.run(["patch", "-p1", "-i", patch], cwd=copy, check=True, capture_output=True)
    after = (copy / "train.sh").read_text().replace("\n", " ")
    for words in job.gone:
        assert words in before.replace("\n", " ")
        assert words not in after
    for words in job.new:
        assert words in after
    subprocess.run(["bash", "-n", str(copy / "train.sh")], check=True)


@EACH
def test_with_the_keyboard_alone(job: Job, tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        seen = [person.step]
        while person.step != "change":
            await person.press("n")
            assert person.step not in seen, "goes round in a circle"
            seen.append(person.step)
            if person.step == "finding":
                assert job.root in person.page("#story")
                assert job.picture in person.page("#story")
        assert job.new[0] in person.page("#change")
        await person.press("w")

    walk(act, folder=tmp_path, source=Read(job.name))
    applies(job, tmp_path)


@EACH
def test_with_the_mouse_alone(job: Job, tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.click_step(2)
        await person.click_row("#list", f"rule {job.root}")
        assert person.step == "finding"
        await person.click_step(5)
        taken = person.app.session and person.app.session.taken
        assert taken
        await person.click_row("#remedies", taken[0])
        assert person.app.session
        assert taken[0] not in person.app.session.taken
        await person.click_row("#remedies", taken[0])
        await person.click_step(6)
        await person.pilot.click("FooterKey")
        await person.pilot.pause()

    walk(act, folder=tmp_path, source=Read(job.name))
    applies(job, tmp_path)


@EACH
def test_in_chinese_on_a_small_screen(job: Job, tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        while person.step != "change":
            await person.press("n")
            if person.step == "finding":
                assert job.words in person.page("#story")
        await person.press("w")

    walk(act, folder=tmp_path, source=Read(job.name), lang="zh", size=(80, 24))
    applies(job, tmp_path)


@EACH
def test_going_back_loses_nothing(job: Job, tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("n", "n", "5", "space", "6")
        session = person.app.session
        assert session
        while person.step != "collect":
            await person.press("b")
        assert person.app.session is session
        await person.press("2", "6")
        assert job.new[0] not in person.page("#change")
        await person.press("5", "space", "6")
        assert job.new[0] in person.page("#change")

    walk(act, folder=tmp_path, source=Read(job.name))


@EACH
def test_an_answer_changes_the_ranking_where_one_is_worth_asking_for(job: Job, tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("4")
        session = person.app.session
        assert session
        if not any(step.asks for step in present.next_steps(session.report)):
            assert session.report.diagnosis.roots[0].belief > 0.95, "nothing is asked, though nothing is certain"
            return
        before = person.page("#about")
        await person.press("enter")
        assert person.page("#about") != before
        await person.press("u")
        assert person.app.session is session

    walk(act, folder=tmp_path, source=Read(job.name))
