from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from doctor.session.notes import Note
from doctor.session.watch.actions import Actions, Asked
from doctor.session.watch.model import Announcement, Kind, Status
from doctor.session.watch.webhook import read_address
from doctor.session.watch.worker import Worker
from doctor.views.watch_json import announcement
from tests.session.watch.announcements import said
from tests.session.watch.receiver import receiver


def document(said: Announcement) -> str:
    return announcement(said, "en")


def test_nothing_is_done_unasked(tmp_path: Path) -> None:
    notes: list[Note] = []
    actions = Actions(Asked(), document, notes.append)
    actions(said())
    actions.status(lambda: Status(1.0))
    actions.close(1.0)
    assert (notes, actions.owed(), actions.metrics_port) == ([], {}, None)


def test_each_outlet_gets_each_announcement(tmp_path: Path) -> None:
    notes: list[Note] = []
    copy, lines, metrics = tmp_path / "copy", tmp_path / "said.jsonl", tmp_path / "pdoctor.prom"
    code = f"import sys; open({str(copy)!r}, 'a').write(sys.stdin.read() + '\\n')"
    with receiver() as told:
        asked = Asked((sys.executable, "-c", code), read_address(f"{told.url}/T0KEN"), lines, metrics)
        actions = Actions(asked, document, notes.append)
        actions(said())
        actions(said(kind=Kind.UPDATED))
        actions.status(lambda: Status(1.0, step=5))
        actions.close(30.0)
    posted = [body for _, _, body in told.heard]
    assert [body["announced"]["kind"] for body in posted] == ["new", "updated"]
    assert [json.loads(line) for line in lines.read_text().splitlines()] == posted
    assert [json.loads(line) for line in copy.read_text().splitlines()] == posted
    assert "pdoctor_step 5" in metrics.read_text()
    assert sorted(note.key for note in notes) == ["attach.posted"] * 2 + ["attach.ran"] * 2
    assert "T0KEN" not in repr(notes)


def test_a_receiver_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    free = threading.Event()
    worker = Worker("slow", lambda text: free.wait(30.0), limit=3)
    taken = [worker.offer(str(number)) for number in range(10)]
    assert taken.count(False) in (6, 7)
    assert worker.left_out == taken.count(False)
    free.set()
    assert worker.close(60.0) == 0


def test_what_is_not_delivered_is_owed_and_delivered_after_a_restart(tmp_path: Path) -> None:
    notes: list[Note] = []
    with receiver([(503, {})]) as told:
        asked = Asked(webhook=read_address(told.url))
        first = Actions(asked, document, notes.append)
        first(said())
        first(said("other"))
        first.close(0.3)
        owed = first.owed()
        assert [len(texts) for texts in owed.values()] == [2]
        assert notes[-1].key == "attach.left_undone"
        told.answers[:] = [(200, {})]
        told.heard.clear()
        second = Actions(asked, document, notes.append, owed)
        second.close(60.0)
    assert [body["announced"]["key"] for _, _, body in told.heard] == ["MEM001 rank:3", "other"]
    assert second.owed() == {}


def test_a_file_of_lines_that_cannot_be_written_is_said_once_and_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.session.watch.actions.RETRY", 0.01)
    notes: list[Note] = []
    said_it = threading.Event()

    def told(note: Note) -> None:
        notes.append(note)
        said_it.set()

    folder = tmp_path / "mount"
    actions = Actions(Asked(jsonl=folder / "said.jsonl"), document, told)
    for number in range(5):
        actions(said(f"key {number}"))
    assert said_it.wait(60.0)
    folder.mkdir()
    actions.close(60.0)
    assert [note.key for note in notes] == ["attach.unwritable", "attach.writable_again"]
    assert len((folder / "said.jsonl").read_text().splitlines()) == 5


def test_a_port_that_is_taken_is_an_error_at_the_start() -> None:
    first = Actions(Asked(metrics_port=0), document, print)
    try:
        with pytest.raises(OSError, match="in use"):
            Actions(Asked(metrics_port=first.metrics_port), document, print)
    finally:
        first.close(1.0)
