"""A watch that is ended from outside keeps what it has to keep; two do not share a state."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_attach import OOM, PDOCTOR, PLAIN, attach, steps


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "rank2.log").write_text(steps(2, 1, 9) + OOM)
    return folder


def watching(logs: Path, *words: str) -> subprocess.Popen[str]:
    """A watch that has told its first finding."""
    own = "--jsonl", str(logs.parent / "said.jsonl"), "--state", str(logs.parent / "state")
    process = subprocess.Popen(
        [*PDOCTOR, str(logs), *own, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN
    )
    assert process.stdout is not None
    assert "fatal" in process.stdout.readline()
    return process


def kept(logs: Path) -> list[str]:
    assert (logs.parent / "state").stat().st_size > 0
    lines = (logs.parent / "said.jsonl").read_text().splitlines()
    return [json.loads(line)["announced"]["kind"] for line in lines]


def test_it_ends_when_nobody_reads_it_any_more(logs: Path) -> None:
    process = watching(logs)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    assert process.wait(180) == 1
    assert kept(logs) == ["new"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_terminal_that_is_closed_ends_it_with_its_summary(logs: Path, number: int) -> None:
    process = watching(logs)
    process.send_signal(number)
    process.send_signal(number)  # the kernel and the shell say so, or a launcher to the process and to its group
    rest, _ = process.communicate(timeout=180)
    assert process.returncode == 1
    assert "1 root cause" in rest
    assert kept(logs) == ["new"]


def test_a_state_is_of_one_watch_at_a_time(logs: Path) -> None:
    process = watching(logs)
    second = attach(str(logs), "--state", str(logs.parent / "state"), "--for", "0")
    process.terminate()
    process.communicate(timeout=180)
    assert second.returncode == 2
    assert "another pdoctor" in second.stderr
    assert attach(str(logs), "--state", str(logs.parent / "state"), "--for", "0").returncode == 1


def test_what_it_writes_into_the_folder_is_not_followed(logs: Path) -> None:
    with (logs / "pdoctor.log").open("w") as out:
        process = subprocess.run(
            [*PDOCTOR, str(logs), "--for", "3", "--jsonl", str(logs / "said.jsonl"), "--state", str(logs / "state")],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=PLAIN,
            check=False,
        )
    assert process.returncode == 1
    assert "1 log read" in (logs / "pdoctor.log").read_text()


def test_no_log_is_written_over(logs: Path) -> None:
    log = logs / "rank2.log"
    text = log.read_text()
    for option in ("--jsonl", "--metrics-file", "--state"):
        done = attach(str(log), option, str(log), "--for", "0")
        assert done.returncode == 2
        assert "name another one" in done.stderr
    for option in ("--jsonl", "--metrics-file"):
        assert attach(str(logs), option, str(log), "--for", "0").returncode == 2
    assert log.read_text() == text


@pytest.mark.parametrize("option", ["--interval", "--for"])
def test_nan_is_no_number_of_seconds(logs: Path, option: str) -> None:
    assert attach(str(logs), option, "nan").returncode == 2
