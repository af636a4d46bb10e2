"""Logs that are packed or in an archive, laid down for their lines to be shown."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest
import zstandard

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import read_paths
from doctor.session.laid_open import LaidOpen
from doctor.session.report import Input

LINES = "".join(f"line {number}\n" for number in range(1, 2000)) + "RuntimeError: CUDA error: out of memory\n"


def read(path: Path) -> Input:
    """The one log at `path`."""
    return next(given for given in read_paths([str(path)], load_rulebase()).inputs if given.kind == "log")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rank0.log.gz", gzip.compress(LINES.encode())),
        ("rank0.log.zst", zstandard.compress(LINES.encode())),
        ("rank0.log", LINES.encode("utf-16")),
    ],
)
def test_what_is_packed_is_laid_down_as_plain_text_once(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    given, laid = read(tmp_path), LaidOpen()
    assert laid.at_hand(given) == ""
    place = laid.lay(given, [str(tmp_path)])
    assert Path(place).read_text() == LINES
    assert laid.at_hand(given) == laid.lay(given, [str(tmp_path)]) == place


def test_a_member_of_an_archive_is_laid_down_packed_or_not(tmp_path: Path) -> None:
    log, packed = tmp_path / "a.log", tmp_path / "b.log.gz"
    log.write_text(LINES)
    packed.write_bytes(gzip.compress(LINES.encode()))
    for member in (log, packed):
        with tarfile.open(tmp_path / "job.tar.gz", "w:gz") as archive:
            archive.add(member, f"logs/{member.name}")
        given, laid = read(tmp_path / "job.tar.gz"), LaidOpen()
        assert laid.at_hand(given) == ""
        assert Path(laid.lay(given, [str(tmp_path / "job.tar.gz")])).read_text() == LINES


def test_a_plain_log_is_at_hand_and_one_that_has_gone_is_nowhere(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text(LINES)
    given, laid = read(log), LaidOpen()
    assert laid.at_hand(given) == str(log)
    log.unlink()
    assert laid.at_hand(given) == laid.lay(given, [str(tmp_path)]) == ""
