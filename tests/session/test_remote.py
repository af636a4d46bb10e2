"""Files of a store, here one in memory, read as if they lay in a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.main import run
from doctor.session.analyze import analyze_paths
from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.remote import fetched, is_remote
from doctor.session.spool import Spool

fsspec = pytest.importorskip("fsspec", reason="the extra `remote` (fsspec) is not installed")

SAMPLE = Path(__file__).parents[2] / "fixtures" / "sample" / "job"


@pytest.fixture
def store() -> Iterator[Any]:
    made = fsspec.filesystem("memory")
    made.store.clear()
    made.pseudo_dirs[:] = [""]
    yield made
    made.store.clear()
    made.pseudo_dirs[:] = [""]


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("s3://bucket/job", True),
        ("gs://bucket/job", True),
        ("https://host/a.log", True),
        ("logs/a.log", False),
        ("ssh://host/a", False),
        ("file:///etc/passwd", False),
        ("://", False),
    ],
)
def test_only_addresses_of_known_stores_are_remote(path: str, remote: bool) -> None:
    assert is_remote(path) is remote


def test_a_job_in_a_store_gives_the_diagnosis_of_its_folder(store: Any) -> None:
    store.put(str(SAMPLE), "/bucket/job", recursive=True)
    here, there = analyze_paths([SAMPLE]), analyze_paths(["memory://bucket/job"])
    assert [f.rule.id for f in there.diagnosis.findings] == [f.rule.id for f in here.diagnosis.findings]
    assert [given.path for given in there.inputs] == [given.path for given in here.inputs]


def test_one_file_is_shown_by_its_address(store: Any) -> None:
    store.pipe("/bucket/a.log", b"iteration 10 | loss 2.3\n")
    assert [given.path for given in analyze_paths(["memory://bucket/a.log"]).inputs] == ["memory://bucket/a.log"]


def test_what_is_not_there_is_one_clear_line(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "memory://bucket/none"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_more_than_there_is_room_for_is_cut_and_told(store: Any) -> None:
    store.pipe("/bucket/a.log", b"x" * 5000)
    notes: list[Note] = []
    with Spool(1000) as spool:
        files = fetched(["memory://bucket"], spool, notes)
    assert [file.bytes for file in files] == [1000]
    assert [note.key for note in notes] == ["remote.cut"]


def test_an_address_within_an_address_is_not_followed() -> None:
    with pytest.raises(InputError), Spool() as spool:
        fetched(["memory://a::file:///etc/passwd"], spool, [])


@pytest.mark.parametrize("path", ["a.log?signature=secret", "?secret"])
def test_signatures_and_passwords_in_an_address_are_not_shown(path: str) -> None:
    notes: list[Note] = []
    with Spool() as spool:
        try:
            fetched([f"http://user:secret@127.0.0.1:1/{path}"], spool, notes)
        except InputError as error:
            notes.append(error.note)
    assert notes and all("secret" not in note.path + "".join(note.values.values()) for note in notes)


def test_a_file_that_vanishes_costs_itself_only(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        store.pipe(f"/bucket/{name}.log", b"iteration 10 | loss 2.3\n")
    files = dict(store.store)
    del files["/bucket/a.log"]
    listed = store.ls("/bucket", detail=True)
    monkeypatch.setattr(type(store), "ls", lambda *_, **__: listed)
    store.store.clear()
    store.store.update(files)
    notes: list[Note] = []
    with Spool() as spool:
        assert [file.name for file in fetched(["memory://bucket"], spool, notes)] == ["b.log"]
    assert [note.path for note in notes] == ["a.log"]


def test_a_web_server_gives_files(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="fsspec reads the web with aiohttp, which is not installed")
    (tmp_path / "a.log").write_text("iteration 10 | loss 2.3\n")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        assert [given.kind for given in analyze_paths([f"{place}/a.log?token=1"]).inputs] == ["log"]
        with pytest.raises(InputError, match=r"input\.missing"):
            analyze_paths([f"{place}/none.log"])
        server.shutdown()
