"""`--live` beside a running job."""

from __future__ import annotations

import pytest

from doctor.cli import live
from doctor.facts.model import Fact, Source
from doctor.session.node import Outcome
from probes.node.interface.model import ProbeSpec

SOURCE = Source("probe", "nvml", 0, "")
BUSY = [
    Outcome(
        ProbeSpec("gpu", "", ()),
        [Fact("gpu.name", "H100", "gpu:n1/0", SOURCE), Fact("gpu.process_pids", (41,), "gpu:n1/0", SOURCE)],
    )
]


def test_a_held_gpu_is_not_loaded_and_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    outcome, result = live.test(BUSY, None, False, "en", True)
    assert result is None and outcome.gaps == ["1 process(es) hold GPUs of this node"]
    told = capsys.readouterr().err
    assert "add --force" in told and len(told.splitlines()) == 1


def test_force_goes_on_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    outcome, _ = live.test(BUSY, "/nowhere/python", True, "en", True)
    assert "does not start" in outcome.gaps[0]
    assert capsys.readouterr().err == ""
