"""Xids that come while pdoctor looks, through the real nvidia-ml-py."""

from __future__ import annotations

import json
from pathlib import Path

from tests.probes.node.gpus import causes_of, pdoctor, table


def looked(values: Path) -> dict[str, object]:
    _, shown = pdoctor("probe", "gpu_events", "--json", values=values)
    (found,) = json.loads(shown)
    return {f["entity"].rpartition("/")[2]: f["value"] for f in found["facts"]} | {"gaps": found["not_checked"]}


def test_events_are_told_by_gpu(tmp_path: Path) -> None:
    found = looked(table(tmp_path, events=[(2, 48), (2, 63), (5, 43), (2, 48)]))
    assert (found["2"], found["5"], found["0"]) == ([48, 63], [43], [])


def test_a_gpu_that_falls_off_the_bus_now_is_a_root_cause(tmp_path: Path) -> None:
    status, found = causes_of(table(tmp_path, events=[(3, 79)]))
    assert status == 1 and found["gpu-fell-off-bus"]["role"] == "root"
    entities = found["gpu-fell-off-bus"]["entities"]
    assert isinstance(entities, list) and [entity.rpartition("/")[2] for entity in entities] == ["3"]


def test_a_storm_of_xids_is_bounded_and_told_by_its_first(tmp_path: Path) -> None:
    status, found = causes_of(table(tmp_path, events=[(6, 48), *[(6, 45)] * 5000]))
    assert status == 1 and found["gpu-ecc-uncorrectable"]["role"] == "root"


def test_cards_that_report_no_events_are_not_checked(tmp_path: Path) -> None:
    found = looked(table(tmp_path, gpus={gpu: {"events": "!4"} for gpu in range(8)}))
    assert "no GPU here reports events to NVML" in str(found["gaps"])
