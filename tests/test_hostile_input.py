"""Bad input costs one clear line each, and nothing of the rest. Every run is a process of its own."""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

OOM = (
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 3 has a total capacity of "
    "79.10 GiB of which 911.25 MiB is free.\n"
)
RUN = "import sys; from doctor.cli.main import main; main()"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


class Answer:
    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert "Traceback" not in done.stderr, done.stderr

    @property
    def data(self) -> dict[str, object]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


def pdoctor(*arguments: str | Path, code: str = RUN, given: str = "") -> Answer:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    drop = obey_permissions if os.geteuid() == 0 else None
    done = subprocess.run(command, capture_output=True, text=True, input=given, timeout=600, preexec_fn=drop)
    return Answer(done)


def obey_permissions() -> None:
    """Takes from root, in the process about to start, the right to pass over the permissions of files."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise OSError("prctl")


def quoted(data: dict[str, object]) -> str:
    return json.dumps([data["findings"], data["unexplained"]])


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    answer = pdoctor("analyze", tmp_path / "no.log")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"pdoctor: no such file or folder: {tmp_path}/no.log\n"


def test_an_empty_folder(tmp_path: Path) -> None:
    answer = pdoctor("analyze", tmp_path)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"pdoctor: {tmp_path}: the folder holds no file\n"


def test_a_binary_alone(tmp_path: Path) -> None:
    (tmp_path / "core.1").write_bytes(b"\x7fELF" + random.Random(1).randbytes(100_000))
    answer = pdoctor("analyze", tmp_path / "core.1")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"pdoctor: {tmp_path}/core.1: passed over: not text\n"


def test_an_empty_file_alone(tmp_path: Path) -> None:
    (tmp_path / "job.log").touch()
    answer = pdoctor("analyze", tmp_path / "job.log")
    assert answer.status == 2
    assert answer.err == f"pdoctor: {tmp_path}/job.log: the file is empty\n"


def test_bad_files_among_good_ones_cost_a_warning_each_and_nothing_of_the_rest(tmp_path: Path) -> None:
    (tmp_path / "rank3.log").write_text(OOM)
    (tmp_path / "core.1").write_bytes(random.Random(1).randbytes(100_000))
    (tmp_path / "empty.log").touch()
    whole = gzip.compress(b"".join(b"step %d loss 2.3\n" % n for n in range(100_000)))
    (tmp_path / "rank4.log.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "rank5.log.gz").write_bytes(b"\x1f\x8b\x08\x00garbage")
    os.mkfifo(tmp_path / "pipe")
    answer = pdoctor("analyze", tmp_path, "--json")
    assert answer.status in (1, 3)
    data = answer.data
    assert "Tried to allocate 1.75 GiB" in quoted(data)
    told = data["warnings"]
    assert isinstance(told, list)
    for name in ("core.1", "empty.log", "rank4.log.gz", "rank5.log.gz", "pipe"):
        assert sum(name in line for line in told) == 1, (name, told)
    assert all("\n" not in line for line in told)
    assert [line.removeprefix("pdoctor: ") for line in answer.err.splitlines()] == told


def test_a_log_without_end_of_line_and_with_holes_is_read(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_bytes(b"\0" * 5_000_000 + OOM.encode().rstrip() + b"\0" * 100)
    assert "Tried to allocate 1.75 GiB" in quoted(pdoctor("analyze", tmp_path, "--json").data)


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A folder with a log in it and a folder that nobody may read."""
    (tmp_path / "rank3.log").write_text(OOM)
    (tmp_path / "locked").mkdir(mode=0)
    return tmp_path


def test_a_folder_without_permission_among_good_files(locked: Path) -> None:
    answer = pdoctor("analyze", locked, "--json")
    assert "Tried to allocate 1.75 GiB" in quoted(answer.data)
    assert answer.err == "pdoctor: locked: cannot be read: Permission denied\n"


def test_a_folder_without_permission_alone(locked: Path) -> None:
    answer = pdoctor("analyze", locked / "locked")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"pdoctor: {locked}/locked: cannot be read: Permission denied\n"


def test_a_rule_file_with_a_mistake_is_left_out_and_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(OOM)
    rule = tmp_path / "mine" / "oom" / "MEM900_mine.yaml"
    rule.parent.mkdir(parents=True)
    rule.write_text("schema: 1\nid: MEM900\nname: mine\nsevrity: fatal\n")
    answer = pdoctor("analyze", tmp_path / "job.log", "--rules", tmp_path / "mine", "--json")
    assert answer.status in (1, 3)
    assert "Tried to allocate 1.75 GiB" in quoted(answer.data)
    gaps = answer.data["not_checked"]
    assert isinstance(gaps, list)
    [gap] = [gap for gap in gaps if "MEM900" in gap["what"]]
    assert gap["what"] == "rule file mine/oom/MEM900_mine.yaml"
    assert gap["why"] == "4:10: unknown key sevrity, did you mean severity?"
    checked = pdoctor("rules", "check", "--rules", tmp_path / "mine")
    assert checked.status == 1
    assert "mine/oom/MEM900_mine.yaml:4:10: unknown key sevrity, did you mean severity?\n" in checked.out


HOSTILE_RULE = """\
schema: 1
id: MEM900
name: mine
cause: allocator-fragmentation
title: {en: mine, zh: mine}
severity: fatal
prior: frequent
signals:
  seen: {event: mine.words, where: "matches(text, '(x+x+)+y|words')", seen: {if_cause: always, otherwise: never}}
condition: {all: [seen]}
because: {en: mine, zh: mine}
remedies: [{id: a, title: {en: a, zh: a}, change: {env: {A: "1"}}, risk: low, restart: job}]
"""


@pytest.mark.parametrize("pattern", ["words (?P<all>(a+)+)$", "words (?P<all>(a|aa)+)b", "words .*.*.*.*=.*b"])
def test_a_pattern_that_could_run_for_years_costs_no_more_than_others(pattern: str, tmp_path: Path) -> None:
    line = "words " + "a" * 1900
    (tmp_path / "job.log").write_text(f"{line}!\n{line}=b xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n{line}b\n{line}\n")
    for name, text in {
        "oom/MEM900_mine.yaml": HOSTILE_RULE,
        "events/mine.yaml": f"mine.words: {{meaning: {{en: a, zh: a}}, patterns: ['{pattern}']}}\n",
    }.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(text)
    answer = pdoctor("analyze", tmp_path / "job.log", "--rules", tmp_path / "mine", "--json")
    assert (answer.status, answer.data["verdict"]) == (1, "problem")


def test_a_wrong_pattern_in_a_condition_is_named_with_its_rule(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(OOM)
    (tmp_path / "mine" / "oom").mkdir(parents=True)
    rule = HOSTILE_RULE.replace("mine.words", "torch.cuda_oom").replace("(x+x+)+y|words", "((")
    (tmp_path / "mine" / "oom" / "MEM900_mine.yaml").write_text(rule)
    os.mkfifo(tmp_path / "mine" / "oom" / "MEM901_pipe.yaml")
    answer = pdoctor("analyze", tmp_path / "job.log", "--rules", tmp_path / "mine", "--json")
    gaps = json.dumps(answer.data["not_checked"])
    assert "pattern '((' does not compile" in gaps
    assert answer.status in (1, 3)


def test_answers_that_are_hostile_end_in_one_plain_line(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(OOM)
    (tmp_path / "answers.yaml").write_text('"\\e[2Jx": 3\n')
    os.mkfifo(tmp_path / "pipe")
    for name, problem in {"answers.yaml": "unknown fact \\x1b[2Jx", "pipe": "a pipe, socket or device"}.items():
        answer = pdoctor("analyze", tmp_path / "job.log", "--answers", tmp_path / name)
        assert (answer.status, answer.out) == (2, "")
        assert problem in answer.err and answer.err.count("\n") == 1


def test_an_archive_within_an_archive_is_no_healthy_log(tmp_path: Path) -> None:
    (tmp_path / "job.log.gz").write_bytes(gzip.compress(gzip.compress(OOM.encode() * 100)))
    answer = pdoctor("analyze", tmp_path)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "pdoctor: job.log.gz: passed over: not text\n"


def test_a_log_may_come_over_standard_input() -> None:
    answer = pdoctor("analyze", "-", "--json", given=OOM)
    assert "Tried to allocate 1.75 GiB" in quoted(answer.data)
    assert answer.err == ""


def test_nothing_over_standard_input_is_told() -> None:
    answer = pdoctor("analyze", "-")
    assert (answer.status, answer.err) == (2, "pdoctor: stdin: the file is empty\n")


def test_more_than_there_is_room_for_is_cut_and_told() -> None:
    code = "import doctor.session.spool as spool\nspool.ROOM = 5000\n" + RUN
    answer = pdoctor("analyze", "-", "--json", code=code, given=OOM + "step 1 loss 2.3\n" * 1000)
    assert "Tried to allocate 1.75 GiB" in quoted(answer.data)
    assert answer.err == "pdoctor: stdin: more than 5,000 bytes; the rest was not read\n"


def test_an_archive_of_logs_is_read_like_its_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        archive.writestr("logs/rank3.log", OOM)
        archive.writestr("../../etc/\x1b[2J", "x\n")
    answer = pdoctor("analyze", tmp_path / "job.zip", "--json")
    assert f"{tmp_path}/job.zip:logs/rank3.log" in quoted(answer.data)
    assert "\x1b" not in answer.out + answer.err
    assert os.listdir(tmp_path) == ["job.zip"]


def test_hostile_log_text_never_reaches_the_terminal_live(tmp_path: Path) -> None:
    line = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. "
    attack = "\x1b]0;owned\x07\x1b[2J\x9b31m[bold red]x[/bold red][link=file:///etc]\u202e\u2066\u200b\x08\x7f"
    (tmp_path / "a\x1b[31m\u202e.log").write_text(line + attack + "\n", encoding="utf-8")
    for arguments in ([], ["-v", "--facts"], ["--lang", "zh"], ["--json"], ["--explain", "MEM001"]):
        answer = pdoctor("analyze", tmp_path, *arguments)
        shown = answer.out + answer.err
        assert not set(shown) & set("\x1b\x07\x9b\u202e\u2066\u200b\x08\x7f\r"), arguments


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    code = (
        "import sys\nimport doctor.session.analyze as session\n"
        "def interrupted(*_): raise KeyboardInterrupt\n"
        "session.collect = interrupted\nfrom doctor.cli.main import main; main()"
    )
    answer = pdoctor("analyze", tmp_path, code=code)
    assert (answer.status, answer.err.strip()) == (130, "pdoctor: interrupted")
