"""The recorder's file: whole lines, a bounded size, and disks that fail or do not answer."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from doctor.recorder.file import WAITING, RecordFile


def test_lines_are_whole_and_in_order(tmp_path: Path) -> None:
    errors: list[Exception] = []
    file = RecordFile(str(tmp_path / "deep" / "rank0.jsonl"), errors.append)
    for step in range(100):
        file.put({"record": "step", "step": step})
    file.close()
    told = [json.loads(line)["step"] for line in (tmp_path / "deep" / "rank0.jsonl").read_text().splitlines()]
    assert told == list(range(100)) and not errors


def test_a_further_attempt_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rank0.jsonl"
    path.write_text('{"record":"step","step":1}\n{"record":"st')
    file = RecordFile(str(path), lambda error: None)
    file.put({"pdoctor_recording": 1})
    file.close()
    assert path.read_text().splitlines()[2] == '{"pdoctor_recording":1}'


def test_a_full_file_thins_and_never_exceeds_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "rank0.jsonl"
    file = RecordFile(str(path), lambda error: None, most=40_000)
    file._wake.set()  # the thread does not pause
    for step in range(40_000):
        file.put({"record": "step", "step": step, "seconds": 0.25})
        while len(file._lines) > 1000:
            time.sleep(0.001)
    file.close()
    steps = [json.loads(line)["step"] for line in path.read_text().splitlines()]
    assert path.stat().st_size < 40_200
    assert steps[:400] == list(range(400))
    assert steps[-1] > 10_000 and steps[-1] % 1000 == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_told_once() -> None:
    errors: list[Exception] = []
    file = RecordFile("/dev/full", errors.append)
    file.put({"record": "step", "step": 0})
    file.close()
    file.put({"record": "step", "step": 1})
    assert [type(error) for error in errors] == [OSError]


def test_a_disk_that_does_not_answer_holds_nobody_up(tmp_path: Path) -> None:
    """A pipe that nobody reads: opening it never returns."""
    os.mkfifo(tmp_path / "rank0.jsonl")
    file = RecordFile(str(tmp_path / "rank0.jsonl"), lambda error: None)
    for step in range(WAITING + 10):
        file.put({"record": "step", "step": step})
    file.close()
    assert threading.active_count() >= 1 and file._lost >= 9
    reader = os.open(tmp_path / "rank0.jsonl", os.O_RDONLY | os.O_NONBLOCK)  # lets the thread go
    os.close(reader)
