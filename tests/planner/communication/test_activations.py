"""Transfers of activations."""

from __future__ import annotations

import pytest

from doctor.planner.communication.activations import activation_transfers
from doctor.planner.communication.transfer import Group, Primitive, Transfer
from doctor.planner.job import Job, Recompute, Schedule
from tests.planner.support import job


def of(one: Job, group: Group) -> list[Transfer]:
    return [transfer for transfer in activation_transfers(one) if transfer.group is group]


def wire(one: Job, group: Group) -> float:
    return sum(transfer.wire for transfer in of(one, group))


def test_tensor_parallelism_sends_four_all_reduces_of_a_micro_batch_a_layer() -> None:
    one = job(tp=8, pp=1)
    (transfer,) = of(one, Group.TP)
    assert transfer.payload == 1 * 4096 * 8192 * 2  # 67 MB, whatever the global batch
    assert transfer.calls == 4 * 80 * one.micro_batches
    assert transfer.wire / transfer.calls == pytest.approx(2 * 7 / 8 * 4096 * 8192 * 2)


def test_full_recomputation_adds_two() -> None:
    (transfer,) = of(job(tp=8, recompute=Recompute.FULL), Group.TP)
    assert transfer.calls == 6 * 80 * job(tp=8).micro_batches


def test_sequence_parallelism_sends_the_same_bytes_and_gathers_inputs_once_more() -> None:
    plain, split = job(tp=8), job(tp=8, sp=True)
    gathers, scatters = of(split, Group.TP)
    assert (gathers.primitive, scatters.primitive) == (Primitive.ALL_GATHER, Primitive.REDUCE_SCATTER)
    assert (gathers.calls / scatters.calls) == 3 / 2
    assert wire(split, Group.TP) == pytest.approx(wire(plain, Group.TP) * 5 / 4)


def test_a_pipeline_boundary_sends_every_micro_batch_forward_and_back() -> None:
    one = job(tp=8, pp=4)
    (transfer,) = of(one, Group.PP)
    assert transfer.wire == 2 * one.micro_batches * 4096 * 8192 * 2
    assert wire(job(tp=8, pp=4, sp=True), Group.PP) == transfer.wire / 8
    interleaved = job(tp=8, pp=4, vpp=5, schedule=Schedule.INTERLEAVED)
    assert wire(interleaved, Group.PP) == 5 * transfer.wire


def test_experts_send_each_token_top_k_times_there_and_back() -> None:
    one = job("mixtral-8x7b", 64, ep=8)
    (transfer,) = of(one, Group.EP)
    assert transfer.payload == 4096 * 2 * 4096 * 2
    assert transfer.calls == 4 * 32 * one.micro_batches
    assert transfer.wire == pytest.approx(transfer.calls * transfer.payload * 7 / 8)


def test_experts_of_one_rank_send_nothing_and_neither_does_a_dense_model() -> None:
    assert not of(job("mixtral-8x7b", 64), Group.EP)
    assert not of(job(), Group.EP)


def test_ring_attention_grows_with_the_sequence_not_with_the_parameters() -> None:
    short, long = job(cp=4, tp=2), job(cp=4, tp=2, seq=8192)
    (transfer,) = of(short, Group.CP)
    assert transfer.payload == 4096 / 4 * 2 * 8 * 128 * 2 / 2
    assert wire(long, Group.CP) == 2 * wire(short, Group.CP)
