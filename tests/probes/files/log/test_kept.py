"""What is made of patterns is kept between runs, and a damaged or foreign file costs time only."""

from __future__ import annotations

from pathlib import Path

from probes.files.log.kept import KEPT, kept
from probes.files.log.matcher import SMALL_ENGINES, build

PATTERNS = (r"CUDA out of memory\. Tried", r"iteration +\d+/")
TEXT = b"iteration   10/ 100\nCUDA out of memory. Tried to allocate\n"


def made(folder: Path | None, *patterns: bytes) -> tuple[list[int], bool]:
    """What `kept` gives, and whether it was made now."""
    calls: list[int] = []

    def make() -> list[int]:
        calls.append(1)
        return [7]

    return kept(folder, "x", patterns, list[int], make), bool(calls)


def test_it_is_made_once_for_the_same_patterns(tmp_path: Path) -> None:
    assert made(tmp_path, b"a", b"b") == ([7], True)
    assert made(tmp_path, b"a", b"b") == ([7], False)
    assert made(tmp_path, b"ab") == ([7], True)
    assert made(None, b"a", b"b") == ([7], True)


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    made(tmp_path, b"a")
    [file] = tmp_path.iterdir()
    for damage in (b"", b"\xff\xff", b"\x81\xa1a\x01"):
        file.write_bytes(damage)
        assert made(tmp_path, b"a") == ([7], True)


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert made(tmp_path / "file" / "cache", b"a") == ([7], True)


def test_old_files_go(tmp_path: Path) -> None:
    for number in range(KEPT + 3):
        made(tmp_path, b"%d" % number)
    assert len(list(tmp_path.iterdir())) == KEPT


def test_a_matcher_from_the_cache_finds_the_same(tmp_path: Path) -> None:
    found = [sorted(build(PATTERNS, folder, SMALL_ENGINES)[0].scan(TEXT)) for folder in (None, tmp_path, tmp_path)]
    assert found[0] == found[1] == found[2]
    assert {index for index, _ in found[0]} == {0, 1}
