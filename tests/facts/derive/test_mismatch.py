"""Collectives and batch counts that ranks state, put beside each other."""

from __future__ import annotations

from typing import Any

from doctor.facts.derive.mismatch import derive
from doctor.facts.model import Event, Scalar, Source
from doctor.facts.store import FactStore


def said(line: int, name: str = "torch.collective_mismatch", **fields: Scalar) -> Event:
    return Event(name, Source("log", "job.log", line, f"line {line}"), fields, order=line)


def facts(*events: Event) -> dict[str, Any]:
    return {fact.name: fact.value for fact in derive(FactStore((), events))}


def test_two_lines_of_an_old_version_are_compared() -> None:
    found = facts(said(1, rank=0, op="ALLGATHER", shape="41, 8"), said(2, rank=1, op="ALLGATHER", shape="40, 8"))
    assert found["mismatch.shapes_differ"] is True and found["mismatch.ops_differ"] is False


def test_both_ranks_on_one_line() -> None:
    one = said(1, rank=1, op="ALLGATHER", seq=101, shape="1", other_rank=7, other_op="REDUCE", other_seq=0)
    found = facts(one)
    assert found["mismatch.ops_differ"] is True and found["mismatch.seqs_differ"] is True
    assert found["mismatch.shapes_differ"] is False, "other shapes of another operation are no news"


def test_one_rank_alone_proves_nothing() -> None:
    assert facts(said(1, rank=0, op="BARRIER"), said(2, rank=0, op="ALLREDUCE")) == {}


def test_batches_are_compared_between_ranks_that_state_a_total() -> None:
    name = "train.rank_batches"
    assert facts(said(1, name, of_rank=0, batches=20), said(2, name, of_rank=1, batches=18)) == {
        "train.batches_differ": True
    }
    counting = (said(n, name, of_rank=n % 2, batches=n) for n in range(1, 6))
    assert facts(*counting) == {}, "progress of two ranks"


def test_sizes_that_ranks_print_are_compared() -> None:
    name = "train.rank_numel"
    assert facts(said(1, name, of_rank=0, numel=8), said(2, name, of_rank=1, numel=4))["mismatch.shapes_differ"] is True
    assert (
        facts(said(1, name, of_rank=0, numel=8), said(2, name, of_rank=1, numel=8))["mismatch.shapes_differ"] is False
    )
    assert facts(said(1, name, of_rank=0, numel=8)) == {}
