"""What of a step's communication nothing hides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from doctor.planner.cluster import Cluster
from doctor.planner.communication.activations import activation_transfers
from doctor.planner.communication.cost import seconds
from doctor.planner.communication.states import state_transfers
from doctor.planner.communication.transfer import Group, Hides, Transfer
from doctor.planner.constants import Constants
from doctor.planner.job import Job, Sharding, Stack
from doctor.planner.parameters import RankParameters

ROLES = {Group.ETP: Group.EP, Group.EDP: Group.DP}  # shown with the role whose work they do


def exposed(
    job: Job, parameters: RankParameters, layers: float, attention: float, passes: tuple[float, float],
    constants: Constants,
) -> dict[Group, float]:  # fmt: skip
    """Seconds a step by role that a rank waits for, beside its own work.

    parameters: of that rank; layers: its layers over the mean of all ranks; attention: seconds of its attention a
    step, behind which ring attention hides; passes: seconds of the forward and of the backward pass of one micro-batch.
    What can hide costs what exceeds the work it hides behind, and `contention` of the rest, for both share memory and
    multiprocessors.
    """
    cluster = _network(job.cluster, constants.network)
    found = dict.fromkeys((Group.TP, Group.CP, Group.EP, Group.DP, Group.PP), 0.0)
    budgets = _budgets(job, attention, passes)
    asked = dict.fromkeys(budgets, 0.0)
    fused = job.layout.sp and job.stack is Stack.MEGATRON
    shares = {Group.EP: constants.ep_exposed, Group.TP: constants.sp_exposed if fused else constants.tp_exposed}
    for transfer in _transfers(job, parameters):
        role = ROLES.get(transfer.group, transfer.group)
        took = seconds(transfer, job.layout, cluster)
        if role in (Group.TP, Group.CP, Group.EP):
            took *= layers
        if transfer.hides is Hides.PIPELINE:
            found[role] += took * constants.pp_exposed
        elif transfer.hides is Hides.NOTHING:
            found[role] += took * shares.get(role, 1.0)
        else:
            asked[transfer.hides] += took
            found[role] += took * constants.contention
    for hides, took in asked.items():
        role = Group.CP if hides is Hides.ATTENTION else Group.DP
        found[role] += max(0.0, took - budgets[hides]) * (1 - constants.contention)
    return found


def _transfers(job: Job, parameters: RankParameters) -> Iterator[Transfer]:
    yield from activation_transfers(job)
    yield from state_transfers(job, parameters)


def _budgets(job: Job, attention: float, passes: tuple[float, float]) -> dict[Hides, float]:
    """Seconds of work behind which transfers of each kind can run.

    Gradients of a step go out during its last backward pass; parameters that come once a step do so during a first
    forward pass; those of ZeRO-2 and ZeRO-3 during every pass.
    """
    forward, backward = passes
    often = job.sharding in (Sharding.FULL, Sharding.GRADIENTS)
    whole = (forward + backward) * job.micro_batches
    return {Hides.ATTENTION: attention, Hides.BACKWARD: backward, Hides.LAYER: whole if often else forward}


@lru_cache(maxsize=256)
def _network(cluster: Cluster, share: float) -> Cluster:
    return replace(cluster, nic_bandwidth=cluster.nic_bandwidth * share)
