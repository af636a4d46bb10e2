"""How many GPUs of one host are under two ranks."""

from __future__ import annotations

from doctor.facts.derive.shared_gpus import derive
from doctor.facts.model import Event, Source
from doctor.facts.store import FactStore


def duplicate(host: str, rank_a: int, rank_b: int, device: str) -> Event:
    text = f"{host}:59:60 [0] NCCL WARN Duplicate GPU detected : rank {rank_a} and rank {rank_b} both on CUDA device {device}"
    return Event("nccl.duplicate_gpu", Source("log", "job.log", 1, text), {"device": device})


def shared(*events: Event) -> list[object]:
    return [fact.value for fact in derive(FactStore((), events))]


def test_all_ranks_on_the_first_gpu_share_one() -> None:
    assert shared(duplicate("n1", 1, 0, "1a000"), duplicate("n1", 2, 0, "1a000")) == [1]


def test_two_launchers_on_a_host_share_each_of_its_gpus() -> None:
    assert shared(duplicate("n1", 6, 4, "31000"), duplicate("n1", 7, 5, "4B000"), duplicate("n1", 5, 7, "4b000")) == [2]


def test_the_first_gpus_of_two_hosts_are_one_each() -> None:
    assert shared(duplicate("n1", 1, 0, "1a000"), duplicate("n2", 9, 8, "31000")) == [1]


def test_nothing_is_told_where_no_gpu_is_shared() -> None:
    assert shared() == []
