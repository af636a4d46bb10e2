from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.session.inputs import InputError
from doctor.session.watch.own import apart, check


@pytest.mark.parametrize("option", ["jsonl", "metrics-file", "state"])
def test_a_log_that_is_followed_is_not_written_to(tmp_path: Path, option: str) -> None:
    log, link = tmp_path / "rank0.log", tmp_path / "link"
    log.write_text("step 1\n")
    link.symlink_to(log)
    for path in (log, link):
        with pytest.raises(InputError) as raised:
            check({option: path}, [str(log)])
        assert raised.value.note.key == "attach.own_followed"
    check({option: tmp_path / "new"}, [str(log), str(tmp_path)])
    with pytest.raises(InputError):
        check({option: tmp_path / "new"}, [str(tmp_path / "new")])  # not there yet


def test_a_file_of_another_kind_is_not_written_to(tmp_path: Path) -> None:
    log, lines, metrics = tmp_path / "rank0.log", tmp_path / "said.jsonl", tmp_path / "pdoctor.prom"
    log.write_text("step 1\n")
    lines.write_text('{"announced":{}}\n')
    metrics.write_text("# HELP pdoctor_info The pdoctor that watches.\n")
    for option in ("jsonl", "metrics-file"):
        with pytest.raises(InputError) as raised:
            check({option: log}, [])
        assert raised.value.note.key == "attach.own_other"
    check({"jsonl": lines, "metrics-file": metrics}, [])
    check({"jsonl": Path(os.devnull), "metrics-file": tmp_path / "none"}, [])
    metrics.write_text("")
    check({"jsonl": metrics, "metrics-file": metrics}, [])


def test_own_files_and_output_are_kept_apart(tmp_path: Path) -> None:
    said, log = tmp_path / "said.jsonl", tmp_path / "rank0.log"
    log.touch()
    is_own = apart([said])
    said.touch()
    assert is_own(str(said), said.stat())
    assert not is_own(str(log), log.stat())
