"""On a node that is busy probes are given longer: work takes longer there that hangs nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probes.node.interface.host import MOST_CROWDED
from probes.node.interface.model import ProbeSpec
from tests.probes.node.hosts import host_of

CPUS = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("load", "running", "times"),
    [
        (0.5 * CPUS, 1, 1.0),
        (1.0 * CPUS, 1, 1.0),
        (2.5 * CPUS, 1, 2.5),
        (0.0, 3 * CPUS + 1, 3.0),  # it has only just begun; this process runs, too
        (900.0 * CPUS, 1, MOST_CROWDED),  # such a load is one of threads that wait for a disk
    ],
)
def test_a_probe_is_given_as_much_longer_as_work_takes(load: float, running: int, times: float, tmp_path: Path) -> None:
    host = host_of(tmp_path, {"/proc/loadavg": f"{load:.2f} 0.00 0.00 {running}/1200 4410\n"})
    assert host.crowding() == times
    assert ProbeSpec("p", "", (), seconds=2.0).time_on(host) == 2.0 * times


@pytest.mark.parametrize("text", ["", "0.10", "a b c d e", "\x00"])
def test_where_the_load_is_not_told_it_is_given_the_usual_time(text: str, tmp_path: Path) -> None:
    assert host_of(tmp_path, {"/proc/loadavg": text}).crowding() == 1.0
    assert host_of(tmp_path / "none", {}).crowding() == 1.0
