"""Archives are read like folders: what is in them, in bounded room, and never a file outside."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.session import archives
from doctor.session.archives import expanded
from doctor.session.contents import File
from doctor.session.notes import Note
from doctor.session.spool import Spool

LOG = b"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n"
Read = tuple[dict[str, bytes], list[Note]]


def opened(path: Path, room: int | None = None) -> Read:
    """What the readers are given of the archive at `path`, by name, and the remarks."""
    notes: list[Note] = []
    with Spool(room) as spool:
        files = expanded([File(str(path), path.name, path.stat().st_size)], spool, notes)
        return {file.name: Path(file.path).read_bytes() for file in files}, notes


def tar(*members: tuple[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_700_000_000
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "tar": lambda data: data,
    "tar.gz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_the_members_of_a_tar_are_files_of_their_own(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"job.{kind}"
    path.write_bytes(PACKERS[kind](tar(("logs/rank0.log", LOG), ("logs/rank1.log", b"fine\n" * 300))))
    found, notes = opened(path)
    assert found == {f"job.{kind}:logs/rank0.log": LOG, f"job.{kind}:logs/rank1.log": b"fine\n" * 300}
    assert notes == []


def test_the_members_of_a_zip_are_files_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    path.write_bytes(zipped(("logs/rank0.log", LOG), ("__MACOSX/logs/._rank0.log", b"\x00\x05")))
    assert opened(path) == ({"job.zip:logs/rank0.log": LOG}, [])


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_long_names_of_each_kind_of_tar(form: int, tmp_path: Path) -> None:
    name = "/".join(["experiments-of-the-week"] * 6) + "/日志.log"
    path = tmp_path / "job.tar"
    path.write_bytes(tar((name, LOG), ("next.log", LOG), form=form))
    assert list(opened(path)[0]) == [f"job.tar:{name}", "job.tar:next.log"]


def test_a_header_of_very_many_words_is_read_in_one_go(tmp_path: Path) -> None:
    words = b"4 a\n" * 250_000
    head = tarfile.TarInfo("x")
    head.size, head.type = len(words), b"x"
    path = tmp_path / "job.tar"
    path.write_bytes((head.tobuf(tarfile.USTAR_FORMAT) + words + bytes(-len(words) % 512)) * 4 + tar(("a.log", LOG)))
    assert opened(path) == ({"job.tar:a.log": LOG}, [])


def test_an_archive_in_an_archive_is_opened_and_one_within_that_is_told(tmp_path: Path) -> None:
    inner = zipped(("rank0.log", LOG), ("deep.tar", tar(("rank1.log", LOG))))
    path = tmp_path / "all.tar.gz"
    path.write_bytes(gzip.compress(tar(("node0.zip", inner), ("rank2.log.gz", gzip.compress(LOG)))))
    found, notes = opened(path)
    assert list(found) == ["all.tar.gz:node0.zip:rank0.log", "all.tar.gz:rank2.log.gz"]
    assert [(note.key, note.path) for note in notes] == [("input.nested", "all.tar.gz:node0.zip:deep.tar")]


def test_names_lead_nowhere_and_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"keep out")
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / "evil.tar"
    buffer = io.BytesIO(tar(("../../secret", LOG), (str(secret), LOG)))
    with tarfile.open(fileobj=buffer, mode="a") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo("link.log")
            info.type, info.linkname = kind, str(secret)
            archive.addfile(info)
    path.write_bytes(buffer.getvalue())
    found, _ = opened(path)
    assert list(found.values()) == [LOG, LOG]
    assert secret.read_bytes() == b"keep out"
    assert sorted(os.listdir(tmp_path)) == ["in", "secret"]


def test_links_of_a_zip_are_passed_over(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.log")
    link.external_attr = 0o120777 << 16
    path = tmp_path / "job.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/hostname")
        archive.writestr("rank0.log", LOG)
    assert list(opened(path)[0]) == ["job.zip:rank0.log"]


@pytest.mark.parametrize("make", [zipped, lambda *members: gzip.compress(tar(*members))])
def test_a_bomb_stops_at_its_limit_with_one_line(
    make: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "FLOOR", 100_000)
    monkeypatch.setattr(archives, "RATIO", 2)
    path = tmp_path / "bomb"
    path.write_bytes(make(("a.log", LOG), ("b.log", b"a\n" * 5_000_000), ("c.log", LOG)))
    found, notes = opened(path)
    assert found["bomb:a.log"] == LOG
    assert sum(map(len, found.values())) <= 100_000
    assert [note.key for note in notes] == ["input.archive_damaged"]
    assert "100,000 bytes: only these were read" in notes[0].values["reason"]


def test_all_archives_together_have_bounded_room(tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    path.write_bytes(zipped(("a.log", LOG * 100), ("b.log", LOG * 100)))
    found, notes = opened(path, room=len(LOG) * 150)
    assert [len(data) for data in found.values()] == [len(LOG) * 100, len(LOG) * 50]
    assert [note.key for note in notes] == ["input.archive_damaged"]


def test_the_number_of_members_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_FILES", 3)
    path = tmp_path / "job.tar"
    path.write_bytes(tar(*((f"{n}.log", LOG) for n in range(5))))
    found, notes = opened(path)
    assert len(found) == 3
    assert [note.key for note in notes] == ["input.too_many"]


def test_what_is_no_text_is_counted_and_not_laid_down(tmp_path: Path) -> None:
    path = tmp_path / "job.tar"
    path.write_bytes(tar(("model.bin", b"\x80\x04" + bytes(range(256)) * 40_000), ("rank0.log", LOG)))
    found, notes = opened(path, room=10_000)
    assert list(found) == ["job.tar:rank0.log"]
    assert [(note.key, note.values) for note in notes] == [("input.archive_binary", {"n": "1"})]


def test_a_checkpoint_is_a_zip_of_no_interest(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(zipped(("model/data.pkl", b"\x80\x02}"), ("model/version", b"3\n")))
    found, notes = opened(path)
    assert found == {} and [note.key for note in notes] == ["input.archive_empty"]


def test_one_damaged_member_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    data = bytearray(zipped(("a.log", os.urandom(3000).hex().encode()), ("b.log", LOG)))
    data[200:400] = bytes(200)
    path = tmp_path / "job.zip"
    path.write_bytes(data)
    found, notes = opened(path)
    assert found["job.zip:b.log"] == LOG
    assert [note.key for note in notes] == ["input.archive_damaged"]
    assert notes[0].values["reason"].startswith("a.log: ")


def test_a_tar_that_breaks_off_gives_its_start(tmp_path: Path) -> None:
    whole = gzip.compress(tar(("a.log", LOG), ("b.log", os.urandom(100_000).hex().encode())))
    path = tmp_path / "job.tgz"
    path.write_bytes(whole[: len(whole) // 2])
    found, notes = opened(path)
    assert found["job.tgz:a.log"] == LOG and len(found["job.tgz:b.log"]) > 10_000
    assert [note.key for note in notes] == ["input.archive_damaged"]


def test_a_log_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "job.tar"
    path.write_bytes(LOG * 100)
    assert opened(path) == ({"job.tar": LOG * 100}, [])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_change_of_bytes_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from([tar(("a.log", LOG), ("b.log", LOG)), zipped(("a.log", LOG))])))
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, 1600), st.integers(0, 255)), max_size=6)):
        whole[place % len(whole)] = value
    path = tmp_path_factory.mktemp("changed") / "x"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    opened(path)
