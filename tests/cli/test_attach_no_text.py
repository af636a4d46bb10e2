"""What holds no line of a log is said to be so, by `attach` as by `analyze`: nothing of it makes a job healthy."""

from __future__ import annotations

import gzip
import random
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_attach import OOM, PDOCTOR, PLAIN, steps

NOISE = random.Random(3).randbytes(100_000)
TEXT = steps(2, 1, 9) + OOM


def read(command: str, *words: str, data: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*PDOCTOR[:-1], command, *words], input=data, capture_output=True, env=PLAIN, timeout=120, check=False
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "stdin: nothing was written while it was watched"),
        (b"\0" * 3_000_000, "stdin: holds no text, NUL bytes alone"),
        (NOISE, "stdin: passed over: what comes is not the lines of a log"),
        (gzip.compress(TEXT.encode()), "stdin: passed over: what comes is not the lines of a log, but packed"),
    ],
    ids=["empty", "NULs", "noise", "packed"],
)
def test_a_pipe_without_a_line_is_not_healthy(data: bytes, says: str) -> None:
    done = read("attach", "-", data=data)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"pdoctor: {says}")
    assert "nothing wrong" not in done.stderr


@pytest.mark.parametrize("data", [b"", b"\0" * 70_000, NOISE], ids=["empty", "NULs", "noise"])
def test_a_file_without_a_line_ends_as_analyze_does(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "job.log").write_bytes(data)
    watched = read("attach", str(tmp_path / "job.log"), "--for", "1")
    analyzed = read("analyze", str(tmp_path / "job.log"))
    assert (watched.returncode, watched.stdout) == (analyzed.returncode, analyzed.stdout) == (2, "")
    if data:
        assert watched.stderr.splitlines()[-1] == analyzed.stderr.strip()


def test_a_packed_log_is_left_to_analyze(tmp_path: Path) -> None:
    (tmp_path / "job.log.gz").write_bytes(gzip.compress(TEXT.encode()))
    done = read("attach", str(tmp_path / "job.log.gz"), "--for", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pdoctor analyze reads it" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["attach", "analyze"])
def test_a_closed_input_is_not_waited_for(command: str) -> None:
    words = shlex.join([*PDOCTOR[:-1], command, "-"]) + " <&-"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, env=PLAIN, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pdoctor: standard input is closed: nothing comes through it\n"


def test_a_line_that_never_ends_is_too_little_to_judge_by() -> None:
    data = b"x" * 3_000_000
    watched, analyzed = read("attach", "-", data=data), read("analyze", "-", data=data)
    for done in (watched, analyzed):
        assert done.returncode == 3
        assert "too little to judge by" in done.stdout
        assert "no line ends in its first" in " ".join(done.stdout.split())
    assert "no line of text yet" in watched.stderr


def test_utf16_is_text() -> None:
    done = read("attach", "-", data=TEXT.encode("utf-16"))
    assert done.returncode == 1
    assert "rank 2" in done.stdout


def test_endless_zeros_are_left_by_ctrl_c() -> None:
    with open("/dev/zero", "rb") as zeros:
        watching = subprocess.Popen(
            [*PDOCTOR, "-"], stdin=zeros, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN
        )
    assert watching.stderr is not None
    assert "watching" in watching.stderr.readline()
    assert "no line of text yet in" in watching.stderr.readline()
    watching.send_signal(signal.SIGINT)
    out, err = watching.communicate(timeout=60)
    assert (watching.returncode, out) == (2, "")
    assert err == "pdoctor: stdin: holds no text, NUL bytes alone\n"


def test_what_is_no_text_among_logs_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "rank2.log").write_text(steps(2, 1, 30))
    (tmp_path / "rank3.log").write_bytes(b"\0" * 70_000)
    done = read("attach", str(tmp_path), "--for", "1")
    assert done.returncode == 0
    assert "rank3.log: holds no text" in done.stdout


def test_a_file_that_is_called_as_the_pipe_is_not_read_for_it(tmp_path: Path) -> None:
    (tmp_path / "-").write_text(TEXT)
    command, where = [*PDOCTOR, "-"], {**PLAIN, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, input=NOISE, capture_output=True, env=where, cwd=tmp_path, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_job_that_says_nothing_until_it_ends(tmp_path: Path) -> None:
    with (tmp_path / "job.out").open("w") as out:
        job = subprocess.Popen(["sleep", "600"], stdout=out)
    watching = subprocess.Popen(
        [*PDOCTOR, "--pid", str(job.pid), "--lang", "zh"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watching.stderr is not None
    assert "正在监视" in watching.stderr.readline()
    job.kill()
    job.wait()
    out_text, errors = watching.communicate(timeout=120)
    assert (watching.returncode, out_text) == (2, "")
    assert f"--pid {job.pid}：监视期间没有写出任何内容" in errors
