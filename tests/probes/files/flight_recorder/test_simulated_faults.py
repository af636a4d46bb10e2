"""Faults at random places of a simulated job: the culprits are named, and never anybody else."""

from __future__ import annotations

import random

import pytest

from probes.files.flight_recorder.verdict import Kind, Verdict, verdict
from probes.files.flight_recorder.world import World
from tests.probes.files.flight_recorder.simulator import Cluster

LAYOUTS = [(2, 4, 16), (4, 2, 16), (2, 2, 8), (1, 4, 16), (2, 1, 8), (4, 4, 32)]


def judged(seed: int, fault: str, culprits: int, missing: int = 0) -> tuple[list[int], Verdict]:
    """The ranks with a fault, and the verdict over the dumps, of which so many of the other ranks' are not there."""
    rng = random.Random(seed)
    cluster = Cluster(*rng.choice(LAYOUTS), rng)
    ranks = rng.sample(range(cluster.world), culprits)
    places = {rank: min(rng.randrange(20, 60), len(cluster.ranks[rank].calls) - 1) for rank in ranks}
    cluster.run(
        places if fault in ("cpu", "dead") else {}, places if fault == "gpu" else {}, places if fault == "blind" else {}
    )
    others = [rank for rank in range(cluster.world) if rank not in ranks]
    gone = (*(ranks if fault == "dead" else ()), *rng.sample(others, missing))
    return sorted(ranks), verdict(World(cluster.dumps(gone)))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("fault", "kind"), [("cpu", Kind.CPU), ("gpu", Kind.GPU), ("dead", Kind.DEAD)])
def test_one_culprit_is_named_exactly(seed: int, fault: str, kind: Kind) -> None:
    ranks, found = judged(seed, fault, 1)
    assert found.faults == dict.fromkeys(ranks, kind)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("fault", ["cpu", "gpu", "dead", "blind"])
def test_of_two_culprits_one_may_hide_behind_the_other_but_nobody_else_is_named(seed: int, fault: str) -> None:
    ranks, found = judged(seed, fault, 2)
    assert set(found.faults) <= set(ranks)
    assert found.faults or fault == "blind", "a device that stops unseen before a call leaves all peers in that call"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("fault", ["cpu", "gpu"])
def test_a_few_missing_dumps_of_victims_do_not_mislead(seed: int, fault: str) -> None:
    ranks, found = judged(seed, fault, 1, missing=2)
    proven = {rank for rank, kind in found.faults.items() if kind is not Kind.DEAD}
    assert proven <= set(ranks)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kept", [0, 6, 1000])
@pytest.mark.parametrize("culprits", [1, 2])
@pytest.mark.parametrize(("fault", "kind"), [("cpu", Kind.CPU), ("gpu", Kind.GPU)])
def test_all_that_stop_at_one_moment_are_named_if_it_shows(
    fault: str, kind: Kind, culprits: int, kept: int, seed: int
) -> None:
    """Also where the recorder has room for the last six calls of a rank only. Of two devices one may have missed a
    single call, which proves nothing while it waits for the other."""
    rng = random.Random(seed)
    cluster = Cluster(*rng.choice(LAYOUTS), rng)
    ranks = cluster.strike(fault, rng.sample(range(cluster.world), culprits), rng.randrange(8, 40))
    found = verdict(World(cluster.dumps(kept=kept)))
    if fault == "gpu" and culprits == 2:
        assert found.faults
        assert found.faults.items() <= dict.fromkeys(ranks, kind).items()
    else:
        assert found.faults == dict.fromkeys(ranks, kind)
