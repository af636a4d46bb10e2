"""Questions on a real terminal, and answers handed over without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.cli.terminal import in_terminal

LOG = (
    "n1:100:100 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
    "n1:100:140 [0] NCCL INFO comm 0x55 rank 0 nranks 8 cudaDev 0 busId 1b000 - Init START\n"
)
TIMED_OUT = "n1:100:140 [0] misc/socket.cc:480 NCCL WARN socketStartConnect: Connect to 10.0.0.9<41000> failed : Connection timed out\n"
P2P = "does_p2p_disable_help"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(LOG)
    return path


def on_terminal(arguments: list[str], lines: list[str], prompt: str = "number: ") -> tuple[str, int]:
    """What `pdoctor analyze` shows on a terminal of its own where `lines` are typed, and its exit status."""
    typed = [*(f"{line}\n".encode() for line in lines), b"\x04"]
    keys = [(prompt.encode(), line) for line in typed]
    shown = in_terminal("analyze", *arguments, folder=Path.cwd(), keys=keys, columns=100, NO_COLOR="1")
    return shown.seen.decode(), shown.status


def test_a_terminal_is_asked_and_told_what_an_answer_changes(log: Path, tmp_path: Path) -> None:
    saved = tmp_path / "answers.yaml"
    log.write_text(LOG + TIMED_OUT)
    shown, status = on_terminal([str(log), "--save-answers", str(saved)], ["zork", "1"])
    assert "question" in shown and "a number from 0 to" in shown
    assert "before:" in shown and "now:" in shown
    assert status == 1
    assert len(saved.read_text().splitlines()) == 1


def test_it_stops_when_asked_to(log: Path) -> None:
    shown, _ = on_terminal([str(log), "--lang", "zh"], ["0"], "编号：")
    assert shown.count("编号：") == 1 and "问题" in shown


def test_nothing_is_asked_where_that_is_not_wanted(log: Path) -> None:
    shown, _ = on_terminal([str(log), "--no-input"], [])
    assert "number:" not in shown
    shown, _ = on_terminal([str(log), "--json"], [])
    assert "number:" not in shown


def test_without_a_terminal_the_report_shows_the_answers(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(log), "--json"]) == 3
    steps = json.loads(capsys.readouterr().out)["next_steps"]
    first = next(step for step in steps if step["id"].startswith("question:"))
    assert first["kind"] == "question" and {"key", "text"} == first["choices"][0].keys()
    run(["analyze", str(log)])
    name = first["id"].partition(":")[2]
    assert f"--answer {name}=" in capsys.readouterr().out


def test_an_answer_leads_to_a_cause(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(log), "--answer", f"{P2P}=yes", "--answer", "what_is_wrong=hang", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["findings"][0]["rule"] == "HW002"
    assert f"question:{P2P}" not in {step["id"] for step in data["next_steps"]}


def test_answers_that_were_saved_can_be_handed_over(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(f"{P2P}: yes\nwhat_is_wrong: hang\nconfig.tp: 2\n")
    assert run(["analyze", str(log), "--answers", str(first), "--save-answers", str(second), "--json"]) == 1
    once = capsys.readouterr().out
    assert run(["analyze", str(log), "--answers", str(second), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["rule"] == json.loads(once)["findings"][0]["rule"]


def test_a_file_that_is_no_file_of_answers_is_not_overwritten(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(log), "--save-answers", str(log)]) == 2
    assert log.read_text() == LOG and "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        (f"{P2P}=yess", "did you mean yes?: should be one of yes, no, dont_know"),
        (P2P, "should be one of yes, no, dont_know"),
        ("does_p2p_disable_hlp=yes", f"did you mean {P2P}?"),
        ("\x1b[2J=yes", "unknown question \\x1b[2J"),
    ],
)
def test_a_wrong_answer_is_one_line(word: str, complaint: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(log), "--answer", word]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and complaint in shown.err and shown.err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{P2P}: {{yes: no}}",
        f"{P2P}: [yes]",
        f"{P2P}: " + "9" * 5000,
        f"{P2P}: !!python/object/apply:os.system ['true']",
        "? [a, b]\n: yes",
        "told.works_without_p2p: perhaps",
        "&a [*a, *a]",
        "\x00\x01",
    ],
)
def test_a_hostile_file_of_answers_is_one_line(
    text: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text)
    assert run(["analyze", str(log), "--answers", str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and len(shown.err) < 1000


@pytest.mark.parametrize(
    ("lang", "words"),
    [("en", "Does it work with NCCL_P2P_DISABLE=1?"), ("zh", "设置 NCCL_P2P_DISABLE=1 后能正常工作吗？")],
)
def test_the_questions_are_listed(lang: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "questions", "--lang", lang]) == 0
    out = capsys.readouterr().out
    assert P2P in out and words in out
