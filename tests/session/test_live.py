"""The collective tests as part of a look at the node."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import pytest

from doctor.facts.model import Fact, Source
from doctor.session.live import busy, live, refused
from doctor.session.node import Outcome
from probes.node.interface.model import ProbeSpec

PYTHON = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")
SEEN = ProbeSpec("gpu", "", ())


def looked(**facts: object) -> list[Outcome]:
    given = []
    for name, value in facts.items():
        part, _, rest = name.partition("_")
        entity = "gpu:n1/0" if part == "gpu" else "job"
        given.append(Fact(f"{part}.{rest}", value, entity, Source("probe", "nvml", 0, "")))  # type: ignore[arg-type]
    return [Outcome(SEEN, given)]


def test_a_job_or_a_process_on_the_gpus_is_in_the_way() -> None:
    assert busy(looked(gpu_name="H100", job_ranks_here=(0, 1))) == "a job with 2 rank(s) runs on this node"
    assert busy(looked(gpu_name="H100", gpu_process_pids=(41, 42))) == "2 process(es) hold GPUs of this node"


def test_idle_gpus_and_a_node_without_any_are_free() -> None:
    assert busy(looked(gpu_name="H100", gpu_process_pids=())) == ""
    assert busy(looked(job_ranks_here=(0, 1))) == ""  # gloo over the CPU takes no GPU from it


def test_what_cannot_be_tested_is_a_gap_with_its_reason() -> None:
    outcome, result = live([], "/nowhere/python", lambda text: None)
    assert result is None and not outcome.found
    assert "/nowhere/python" in outcome.gaps[0]
    assert refused("a job runs").gaps == ["a job runs"]


@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")
def test_without_a_gpu_gloo_is_tested() -> None:
    outcome, result = live([], PYTHON, lambda text: None)
    assert result is not None and result.backend == "gloo" and result.lost is None
    found = {fact.name: fact.value for fact in outcome.found}
    assert (found["bench.backend"], found["bench.wrong_values"]) == ("gloo", 0)
