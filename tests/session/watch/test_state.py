from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.watch.model import Kept, Mark, Told
from doctor.session.watch.state import MAGIC, StateFile, Stored, read_state, to_bytes

STORED = Stored(
    Kept(
        (Mark("rank0.log", 64, 12, 4096, "ab12", 256, b"\x00reader"),),
        (Told("HNG009 rank:3", 1_770_000_000.5, "likely", ("rank:3",)),),
    ),
    ("logs/", "slurm 123"),
    {"webhook": ('{"rule":"HNG009"}',)},
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path, notes = tmp_path / "state", list[Note]()
    file = StateFile(path, notes.append)
    file.save(STORED)
    file.close()
    assert read_state(path, notes.append) == STORED
    assert notes == []
    assert os.listdir(tmp_path) == ["state"]


def test_there_is_none_at_first(tmp_path: Path) -> None:
    assert read_state(tmp_path / "none", print) == Stored()


@pytest.mark.parametrize("content", [b"step 1 loss 2.5\n" * 100, b"pdoctor attach state 9\nxyz", b"\x00" * 10])
def test_another_kind_of_file_is_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rank0.log"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_state(path, print)
    assert path.read_bytes() == content
    with pytest.raises(InputError):
        read_state(tmp_path, print)


@pytest.mark.parametrize("cut", [len(MAGIC), len(MAGIC) + 1, 60, -1])
def test_a_damaged_state_is_said_and_the_watch_begins_anew(tmp_path: Path, cut: int) -> None:
    path, notes = tmp_path / "state", list[Note]()
    path.write_bytes(to_bytes(STORED)[:cut])
    assert read_state(path, notes.append) == Stored()
    assert [note.key for note in notes] == ["attach.state_damaged"]


def test_saving_is_due_once_a_second_and_at_news(tmp_path: Path) -> None:
    now = [100.0]
    file = StateFile(tmp_path / "state", print, lambda: now[0])
    assert file.due()
    file.save(STORED)
    now[0] += 0.5
    assert not file.due()
    assert file.due(urgent=True)
    now[0] += 0.6
    assert file.due()
    file.close()


def test_a_folder_that_is_gone_is_said_once_and_once_when_it_is_back(tmp_path: Path) -> None:
    folder, notes = tmp_path / "mount", list[Note]()
    for _ in range(3):
        StateFile(folder / "state", notes.append).close()
    file = StateFile(folder / "state", notes.append)
    for _ in range(3):
        file._write(STORED)
    folder.mkdir()
    file._write(STORED)
    file._write(STORED)
    assert [note.key for note in notes] == ["attach.unwritable", "attach.writable_again"]
    assert read_state(folder / "state", print) == STORED


def test_a_link_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.touch()
    real.chmod(0o600)
    link.symlink_to(real)
    file = StateFile(link, print)
    file.save(STORED)
    file.close()
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert read_state(link, print) == STORED


def test_a_bit_that_was_turned_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path, whole = tmp_path / "state", to_bytes(STORED)
    for place in range(len(MAGIC), len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
        notes: list[Note] = []
        assert read_state(path, notes.append) == Stored()
        assert [note.key for note in notes] == ["attach.state_damaged"]


@pytest.mark.parametrize(
    "kept",
    [
        Kept((Mark("rank0.log", 64, 12, -1),)),
        Kept((Mark("rank0.log", 64, 12, 1 << 63),)),
        Kept((Mark("rank0.log", 64, 12, 1, "", -1),)),
        Kept((Mark("rank0.log", 64, 12, 1, "", 1 << 40),)),
        Kept((Mark("rank0\0.log", 64, 12, 1),)),
        Kept((), (Told("HNG009", 1.0, "sure", ()),)),
        Kept((), (Told("HNG009", float("nan"), "likely", ()),)),
        Kept((), (Told("HNG009", 1e300, "likely", ()),)),
    ],
)
def test_what_cannot_have_been_written_is_not_believed(tmp_path: Path, kept: Kept) -> None:
    path, notes = tmp_path / "state", list[Note]()
    path.write_bytes(to_bytes(Stored(kept)))
    assert read_state(path, notes.append) == Stored()
    assert [note.key for note in notes] == ["attach.state_damaged"]


def test_names_of_files_need_not_be_text(tmp_path: Path) -> None:
    stored = Stored(Kept((Mark(os.fsdecode(b"rank\xff.log"), 64, 12, 1), Mark("日志.log", 64, 13, 1))), ("日志/",))
    file = StateFile(tmp_path / "state", print)
    file.save(stored)
    file.close()
    assert read_state(tmp_path / "state", print) == stored


def test_a_state_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "state", tmp_path / "link"
    path.write_bytes(to_bytes(STORED))
    link.symlink_to(path)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    if os.getuid() == 0:
        os.chown(path, 4242, 4242)
    for name in (path, link):
        with pytest.raises(InputError) as raised:
            read_state(name, print)
        assert raised.value.note.key == "attach.state_foreign"


def test_a_pipe_is_no_state(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state")
    with pytest.raises(InputError):
        read_state(tmp_path / "state", print)
