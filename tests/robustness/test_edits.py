"""The generator of edits: the same seed gives the same files, and no edit touches what tells the fault."""

from __future__ import annotations

import random
import re

import pytest

from tests.robustness import benign, clocks, edits
from tests.robustness.edits import EDITS, Files, edited

OOM = (
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.20 GiB is free."
)
MERGED = (
    "\n".join(
        f"[rank{rank}]: 2025-03-03 08:00:{step:02d},120 INFO step {step} on trn1:{4000 + rank}"
        for step in range(1, 6)
        for rank in range(4)
    )
    + f"\n[rank2]: torch.OutOfMemoryError: {OOM}\n"
    + "[rank1]: waiting for rank 2\n[rank0]: waiting\n"
)
FILES = Files(
    {"job.log": MERGED, "launch.sh": "srun -w trn1 train.py\n"}, frozenset({"job.log"}), ("trn1",), keep={"job.log": 21}
)


def run(name: str, files: Files = FILES, seed: int = 3) -> Files:
    changed = EDITS[name](files, random.Random(seed))
    assert changed is not None
    return changed


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_depends_on_its_seed_alone_and_changes_something(name: str) -> None:
    assert run(name) == run(name)
    assert run(name).text != FILES.text


@pytest.mark.parametrize("name", sorted(set(EDITS) - {"wording", "colour"}))
def test_the_failing_message_stays_whole(name: str) -> None:
    assert OOM in run(name).text["job.log"]


def test_other_files_than_logs_change_in_hosts_and_line_ends_only() -> None:
    touched = {name for name in EDITS if run(name).text["launch.sh"] != FILES.text["launch.sh"]}
    assert touched == {"hosts", "line ends"}


def test_a_cut_keeps_the_failure_and_some_lines() -> None:
    lines = run("cut").text["job.log"].splitlines()
    assert 21 < len(lines) <= 21 + edits.AFTER_FAILURE


def test_hosts_are_renamed_everywhere_and_not_within_other_words() -> None:
    files = Files({"a.log": "trn1 and trn12 and x-trn1", "b.sh": "-w trn1"}, frozenset({"a.log"}), ("trn1",))
    changed = run("hosts", files)
    name = changed.hosts[0]
    assert changed.text == {"a.log": f"{name} and trn12 and x-trn1", "b.sh": f"-w {name}"}


def test_ranks_are_renumbered_consistently_first_and_last_staying() -> None:
    changed = run("ranks").text["job.log"]
    failed = re.search(r"\[rank(\d+)\]: torch.OutOfMemoryError", changed)
    waited = re.search(r"waiting for rank (\d+)", changed)
    assert failed and waited and failed[1] == waited[1]
    assert changed.count("[rank0]:") == MERGED.count("[rank0]:") and changed.count("[rank3]:") == MERGED.count(
        "[rank3]:"
    )


def test_ranks_keep_their_numbers_where_these_mean_a_place_in_the_model() -> None:
    files = Files({"job.log": MERGED + "pipeline-model-parallel size: 4\n"}, frozenset({"job.log"}))
    assert EDITS["ranks"](files, random.Random(1)) is None


def test_shuffling_keeps_the_order_of_each_rank() -> None:
    changed = run("order").text["job.log"].splitlines()
    for rank in range(4):
        own = [line for line in MERGED.splitlines() if line.startswith(f"[rank{rank}]")]
        assert [line for line in changed if line.startswith(f"[rank{rank}]")] == own


def test_days_move_and_times_of_day_stay() -> None:
    text = "2025-03-03 08:00:01,120 a\n[E303 b\n[E0303 08:00:01.5 c 10.2025-1\n"
    assert clocks.shifted(text, 1) == "2025-03-04 08:00:01,120 a\n[E303 b\n[E0304 08:00:01.5 c 10.2025-1\n"


def test_times_before_lines_agree_with_those_inside() -> None:
    assert clocks.running(["2025-03-03 08:00:01,500 a", "b", "2025-03-03 08:00:09 c"]) == [
        "2025-03-03T08:00:01.500000000Z",
        "2025-03-03T08:00:01.520000000Z",
        "2025-03-03T08:00:09.000000000Z",
    ]
    assert clocks.running(["no", "times"]) is None


def test_noise_never_stands_inside_a_traceback() -> None:
    block = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: no\n'
    files = Files({"job.log": ("one\ntwo\n" + block) * 40}, frozenset({"job.log"}))
    assert run("noise", files).text["job.log"].count(block) == 40


def test_edits_are_composed_of_one_to_three_that_apply() -> None:
    seen = [edited(FILES, random.Random(seed))[1] for seed in range(50)]
    assert {len(names) for names in seen} == {1, 2, 3}
    assert all(list(names) == sorted(names, key=list(EDITS).index) for names in seen)
    assert {name for names in seen for name in names} == set(EDITS)


def test_every_benign_line_is_filled_in() -> None:
    rng = random.Random(0)
    for template in benign.TEMPLATES + benign.HINTS:
        assert not re.search(r"\{[a-z]+\}", benign._filled(template, rng))
