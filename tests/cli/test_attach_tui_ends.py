"""`pdoctor attach --tui` that is ended from outside, in a real terminal: it ends as if the person had left."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.session.watch.test_watch import OOM, steps

ROOT = str(Path(__file__).parents[2])
SECONDS = 90


class InTerminal:
    """A watch of a log that shows a failure, in a terminal of its own. `slowly` is a program of --on-finding that takes
    two seconds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen = folder, b""
        (folder / "job.log").write_text(steps(2, 1, 20) + OOM)
        slowly = shlex.join([sys.executable, "-c", "import time; time.sleep(2); open('called', 'w').close()"])
        own = ["--jsonl", "said.jsonl", "--state", "state", "--on-finding", slowly]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:  # the process in the terminal
            os.environ.update(TERM="xterm-256color", PYTHONPATH=ROOT, LINES="24", COLUMNS="100")
            os.chdir(folder)
            os.execv(sys.executable, [sys.executable, "-m", "doctor", "attach", "job.log", "--tui", *own])
        self.attributes = termios.tcgetattr(self.terminal)

    def read_until(self, enough: Callable[[], object]) -> None:
        """Takes what is drawn, until `enough` or the terminal is closed at the other end."""
        deadline = time.monotonic() + SECONDS
        while not enough():
            assert time.monotonic() < deadline, self.seen[-2000:]
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.terminal, 65536)
                except OSError:
                    return

    def told(self) -> bool:
        path = self.folder / "said.jsonl"
        return path.exists() and path.read_bytes().endswith(b"\n") and b"MEM" in self.seen

    def ended(self) -> int:
        """Waits for the end: the exit status, negative for a signal."""
        deadline = time.monotonic() + SECONDS
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, "it hangs"
            time.sleep(0.05)

    def kept(self) -> list[str]:
        """What was announced, where all that was owed has been done."""
        assert (self.folder / "state").stat().st_size > 0
        assert (self.folder / "called").exists()
        lines = (self.folder / "said.jsonl").read_text().splitlines()
        return [json.loads(line)["announced"]["kind"] for line in lines]


@pytest.fixture
def watching(tmp_path: Path) -> InTerminal:
    """A watch that has told its first finding."""
    made = InTerminal(tmp_path)
    made.read_until(made.told)
    return made


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=["TERM", "HUP", "INT"])
def test_a_signal_ends_it_with_its_report_on_the_terminal(watching: InTerminal, number: int) -> None:
    os.kill(watching.pid, number)
    if number != signal.SIGINT:
        os.kill(watching.pid, number)  # to the process and to its group
    watching.read_until(lambda: False)
    assert watching.ended() == 1
    after = watching.seen.partition(b"\x1b[?1049l")[2].decode()
    assert "1 root cause" in after and "job.log:23" in after
    assert "Traceback" not in after
    assert watching.kept() == ["new"]


def test_leaving_waits_for_what_is_owed(watching: InTerminal) -> None:
    os.write(watching.terminal, b"q")
    watching.read_until(lambda: False)
    assert watching.ended() == 1
    assert watching.kept() == ["new"]


def test_the_terminal_is_as_it_was(watching: InTerminal) -> None:
    drawn = termios.tcgetattr(watching.terminal)
    assert not drawn[3] & termios.ECHO
    os.kill(watching.pid, signal.SIGTERM)
    watching.read_until(lambda: b"1 root cause" in watching.seen.partition(b"\x1b[?1049l")[2])
    with suppress(termios.error):  # the process may have ended meanwhile
        assert termios.tcgetattr(watching.terminal) == watching.attributes
    watching.read_until(lambda: False)
    assert watching.ended() == 1


def test_a_terminal_that_is_closed_ends_it(watching: InTerminal) -> None:
    os.close(watching.terminal)
    assert watching.ended() == 1
    assert watching.kept() == ["new"]


def test_a_terminal_that_goes_without_a_word_ends_it(tmp_path: Path) -> None:
    """As behind nohup, which has SIGHUP ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        made = InTerminal(tmp_path)
    finally:
        signal.signal(signal.SIGHUP, before)
    made.read_until(made.told)
    os.close(made.terminal)
    assert made.ended() == 1
    assert made.kept() == ["new"]
