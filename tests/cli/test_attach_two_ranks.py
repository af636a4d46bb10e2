"""Two ranks of which one waits for its data: said with care, and in the language of the report."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_attach import attach


def write(folder: Path, waits: float) -> None:
    for rank, data in ((0, 0.001), (1, waits)):
        lines = (f"step {n} loss 2.1 step_time {0.5 + waits:.3f}s data_time {data:.4f}s\n" for n in range(1, 100))
        (folder / f"rank{rank}.log").write_text("".join(lines))


def test_one_of_two_ranks_is_slower(tmp_path: Path) -> None:
    write(tmp_path, 0.4)
    done = attach(str(tmp_path), "--for", "4", "--lang", "zh")
    assert done.returncode == 1
    first = done.stdout.splitlines()
    assert "LIV013" in first[0] and "可能" in first[0]
    assert first[1].split()[1:] == ["rank", "1"]
    assert "等待数据" in done.stdout and "waiting for data" not in done.stdout


def test_two_ranks_alike_are_not_spoken_of(tmp_path: Path) -> None:
    write(tmp_path, 0.0015)
    done = attach(str(tmp_path), "--for", "4")
    assert done.returncode == 0
    assert "LIV" not in done.stdout
