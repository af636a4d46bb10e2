from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from doctor.session.watch.command import CommandError, read_command, run_command


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_the_program_reads_the_announcement_on_standard_input(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = run_command(python(f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"), '{"rule":"é"}')
    assert (ended.status, ended.words) == (0, "exit status 0")
    assert out.read_text(encoding="utf-8") == '{"rule":"é"}'


def test_no_shell_is_between(tmp_path: Path) -> None:
    words = read_command(f"touch '{tmp_path}/a b' $HOME ';' {tmp_path}/c")
    assert words == ("touch", f"{tmp_path}/a b", "$HOME", ";", f"{tmp_path}/c")


@pytest.mark.parametrize("text", ["", "   ", "echo 'open", "a\0b"])
def test_what_is_no_command_is_said(text: str) -> None:
    with pytest.raises(CommandError):
        read_command(text)


def test_how_it_ended_is_said() -> None:
    ended = run_command(python("import sys; print('no channel'); sys.exit(7)"), "{}")
    assert (ended.words, ended.output) == ("exit status 7", "no channel")
    assert run_command(python("import os; os.kill(os.getpid(), 9)"), "{}").words == "ended by SIGKILL"
    assert run_command(("/does/not/exist",), "{}").words == "did not start: No such file or directory"
    assert run_command(("/",), "{}").words == "did not start: Permission denied"


def test_a_program_that_reads_nothing_and_prints_much_is_no_trouble() -> None:
    ended = run_command(python("print('x' * 5_000_000); print('end')"), "y" * 5_000_000)
    assert ended.status == 0
    assert ended.output.endswith("end")
    assert len(ended.output) <= 2000


def test_one_that_lasts_is_stopped_with_its_children(tmp_path: Path) -> None:
    code = f"(sleep 3600 & echo $! > {tmp_path}/pid; wait)"
    ended = run_command(("sh", "-c", code), "{}", timeout=3.0)
    assert ended.words == "stopped: not done after 3 s"
    child = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    end = time.monotonic() + 60
    while child.exists() and " Z " not in child.read_text():  # whose turn it is to wait for it is another matter
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_is_stopped_when_the_watch_ends() -> None:
    stopping = threading.Event()
    stopping.set()
    assert run_command(python("import time; time.sleep(60)"), "{}", stopping).words == "stopped: pdoctor ends"


def test_what_it_leaves_running_is_not_waited_for_and_may_print_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.session.watch.command.LINGER", 0.5)
    before = threading.active_count()
    for _ in range(5):
        ended = run_command(("sh", "-c", "(while :; do echo more; sleep 0.05; done) & echo begun"), "{}")
        assert ended.status == 0
        assert ended.output.startswith("begun") or "more" in ended.output
    readers = [one for one in threading.enumerate() if one.name == "output of a command"]
    for one in readers:
        one.join(30.0)
    assert threading.active_count() <= before


def test_a_child_that_has_slipped_away_is_no_longer_read_when_the_program_is_stopped() -> None:
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        os.write(1, b'x' * 65536)\ntime.sleep(60)"
    ended = run_command(python(code), "{}", timeout=0.5)
    assert ended.words == "stopped: not done after 0.5 s"
    for one in [one for one in threading.enumerate() if one.name == "output of a command"]:
        one.join(30.0)
        assert not one.is_alive()
