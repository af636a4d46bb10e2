"""The fix as a person applies it: a patch with its command, and a script of what is left."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.rulebase.model import Text
from doctor.session.analyze import read_paths
from doctor.session.answers import Answers
from doctor.session.edits import Edits
from doctor.session.session import Session, begin, tuned
from doctor.views.fix import Fix, fix_of
from tests.session.test_plan import FLAGS, OOM


def session_of(*paths: Path) -> Session:
    return begin(read_paths(paths, load_rulebase(())), Answers())


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not here")
@pytest.mark.parametrize("separate", [False, True])
def test_the_command_applies_the_patch_from_anywhere(tmp_path: Path, separate: bool) -> None:
    job = tmp_path / "the job"
    job.mkdir()
    log, script, patch = job / "rank0.log", job / "train.sh", tmp_path / "my fix.patch"
    log.write_text(OOM)
    script.write_text(FLAGS)
    fix = fix_of(session_of(log, script) if separate else session_of(job), "en")
    patch.write_text(fix.patch)
    subprocess.run(fix.command(str(patch)), shell=True, check=True, cwd=tmp_path, capture_output=True)
    assert "--micro-batch-size 2" in script.read_text()


def test_what_is_left_to_a_person_has_its_reason(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "train.sh").write_text(FLAGS)
    session = session_of(tmp_path)
    name = session.taken[0]
    why = Text("the file is read-only\nfor now", "文件只读")
    fix = fix_of(replace(session, edits=Edits(left={(name, "config"): why})), "en")
    assert fix.patch == "" and [each.kind for each in fix.by_hand if each.why] == ["config"]
    assert "# the file is read-only\n# for now\n" in fix.script


def test_settings_by_hand_are_part_of_the_fix(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "train.sh").write_text(FLAGS)
    assert "--tensor-model-parallel-size 4" in fix_of(tuned(session_of(tmp_path), "tp=4"), "zh").patch


def test_in_the_current_folder_the_command_is_short() -> None:
    assert Fix("x", ()).command("a.patch") == "patch -p1 < a.patch"
