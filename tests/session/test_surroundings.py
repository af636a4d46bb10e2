from __future__ import annotations

from pathlib import Path

from doctor.facts.model import Source
from doctor.session.report import Input
from doctor.session.surroundings import surroundings


def log(folder: Path, lines: int = 100) -> Input:
    path = folder / "job.log"
    path.write_text("".join(f"line {n}\n" for n in range(1, lines + 1)))
    return Input("job.log", "log", path.stat().st_size, place=str(path))


def test_lines_before_and_after_are_read_with_their_numbers(tmp_path: Path) -> None:
    found = surroundings(
        [log(tmp_path)], [Source("log", "job.log", 50, "line 50"), Source("log", "job.log", 1, "line 1")]
    )
    middle, first = found["job.log", 50], found["job.log", 1]
    assert (middle.first, middle.lines[0], middle.lines[-1]) == (46, "line 46", "line 53")
    assert (first.first, first.lines) == (1, ("line 1", "line 2", "line 3", "line 4"))


def test_the_last_line_has_what_is_there(tmp_path: Path) -> None:
    found = surroundings([log(tmp_path)], [Source("log", "job.log", 100, "line 100")])
    assert found["job.log", 100].lines[-1] == "line 100"


def test_configurations_have_surroundings_too(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text("#!/bin/sh\ntorchrun \\\n    --micro-batch-size 4 \\\n    --bf16\n")
    given = Input("train.sh", "config", 60, place=str(path))
    found = surroundings([given], [Source("config", "train.sh", 3, "--micro-batch-size 4")])
    assert found["train.sh", 3].first == 1 and len(found["train.sh", 3].lines) == 4


def test_secrets_that_stand_beside_a_line_are_hidden(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text(
        'export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\ntorchrun train.py\nPASSWORD="a\nb"\n'
    )
    given = Input("train.sh", "config", 60, place=str(path))
    found = surroundings([given], [Source("config", "train.sh", 2, "torchrun train.py")])
    shown = "\n".join(found["train.sh", 2].lines)
    assert "WANDB_API_KEY=" in shown and "0123456789abcdef" not in shown


def test_a_log_that_changed_since_or_has_gone_has_no_surroundings(tmp_path: Path) -> None:
    given = log(tmp_path)
    assert surroundings([given], [Source("log", "job.log", 50, "something else")]) == {}
    assert surroundings([given], [Source("log", "job.log", 500, "line 500")]) == {}
    Path(given.place).unlink()
    assert surroundings([given], [Source("log", "job.log", 50, "line 50")]) == {}


def test_a_control_character_does_not_keep_a_line_from_being_known_again(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text("a\n\x1b[31mred\x1b[0m alert\nb\n")
    given = Input("job.log", "log", 20, place=str(path))
    assert ("job.log", 2) in surroundings([given], [Source("log", "job.log", 2, "red alert")])
