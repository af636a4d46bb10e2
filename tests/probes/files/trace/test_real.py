"""Real traces of 2021 to 2026 against an independent sweep, where PDOCTOR_DATA names the folder that holds them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from probes.files.trace import TraceFile, read_traces
from probes.files.trace.summary import summarize

FOLDER = Path(os.environ.get("PDOCTOR_DATA") or "nowhere") / "kineto"
NAMES = ("span", "busy", "idle", "compute", "comm", "comm_comp_overlap", "exposed_comm", "exposed_mem")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="PDOCTOR_DATA names no folder with kineto/ in it")


def reference() -> dict[str, dict[str, dict[str, float]]]:
    path = FOLDER / "reference.json"
    return json.loads(path.read_text()) if path.is_file() else {}


@pytest.mark.parametrize("name", sorted(reference()))
def test_every_device_is_as_in_the_reference(name: str) -> None:
    facts = read_traces([TraceFile(FOLDER / name, name)]).facts
    for device, expected in reference()[name].items():
        found = {f.name: f.value for f in facts if f.entity.startswith("gpu:") and f.entity.endswith(f"/{device}")}
        for part in NAMES:
            assert found[f"trace.{part}_us"] == pytest.approx(expected[f"{part}_us"], abs=1e-6), part


@pytest.mark.parametrize(
    "name", ["missing_closing_bracket.json", "unescaped_quote_kineto1459.json", "truncated_gzip.json.gz"]
)
def test_broken_files_give_what_is_there_and_say_so(name: str) -> None:
    summary = summarize(FOLDER / "broken" / name, name)
    assert summary.devices and summary.remarks


def test_impossible_durations_do_not_count() -> None:
    whole = summarize(FOLDER / "broken" / "negative_zero_huge_dur.json", "x").devices[0].whole
    good = summarize(FOLDER / "broken" / "compact_two_ranks" / "r0.json", "x").devices[0].whole
    assert whole.span == good.span
    assert 0 < good.compute - whole.compute < 0.01 * good.compute


def test_two_compact_files_are_two_ranks() -> None:
    folder = FOLDER / "broken" / "compact_two_ranks"
    reading = read_traces([TraceFile(path, path.name) for path in sorted(folder.iterdir())])
    assert sorted(reading.ranks.values(), key=str) == [0, 1]
