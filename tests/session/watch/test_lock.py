from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.session.inputs import InputError
from doctor.session.watch.lock import alone

HOLDS = """
import sys, time
from pathlib import Path
from doctor.session.watch.lock import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_at_a_time(tmp_path: Path) -> None:
    state, link = tmp_path / "state", tmp_path / "link"
    link.symlink_to(state)
    with alone(state):
        for name in (state, link):
            with pytest.raises(InputError) as raised, alone(name):
                pass
            assert raised.value.note.key == "attach.state_held"
        with alone(tmp_path / "other"):
            pass
    with alone(state):
        pass
    assert sorted(os.listdir(tmp_path)) == ["link"]


def test_a_killed_watch_holds_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (tmp_path / ".state.0123456789ab").write_bytes(b"half a sta")
    (tmp_path / ".state.notes").touch()
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(state)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(InputError), alone(state):
            pass
        other.send_signal(signal.SIGKILL)
    with alone(state):
        pass
    assert os.listdir(tmp_path) == [".state.notes"]


def test_a_folder_that_cannot_be_written_to_has_no_lock(tmp_path: Path) -> None:
    with alone(tmp_path / "none" / "state"), alone(None):
        pass
    os.mkfifo(tmp_path / ".state.lock")
    with alone(tmp_path / "state"):
        pass
