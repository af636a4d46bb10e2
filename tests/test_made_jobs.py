"""The jobs that are written by a script are those that the script writes."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import pytest

JOBS = Path(__file__).parent.parent / "fixtures" / "jobs"


def held(folder: Path) -> dict[str, bytes]:
    """Every file's content; packers of other versions pack otherwise."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in files.items()}


@pytest.mark.parametrize("name", ["hang", "slow_moe"])
def test_a_made_job_can_be_made_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location(name, JOBS / "make" / f"{name}.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "JOB", tmp_path)
    script.main()
    assert held(tmp_path) == held(JOBS / name / "job")
