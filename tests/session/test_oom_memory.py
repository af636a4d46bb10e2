"""The memory of a GPU as the allocator's error tells it."""

from __future__ import annotations

from typing import Any

from doctor.facts.model import Event, Fact, Source
from doctor.facts.store import FactStore
from doctor.session.held import memory_of
from doctor.session.oom_memory import memory_at_error
from doctor.session.pictures import Bar

GIB = 1 << 30


def error(rank: int | None, **fields: Any) -> Event:
    return Event("torch.cuda_oom", Source("log", "job.log", 1, "out of memory"), fields, rank=rank)


def bars(*events: Event) -> tuple[Bar, ...]:
    picture = memory_at_error(FactStore((), events))
    return picture.bars if picture else ()


def test_the_parts_are_the_whole_gpu() -> None:
    (bar,) = bars(error(3, total=80 * GIB, allocated=60 * GIB, reserved_unallocated=12 * GIB, free=4 * GIB))
    assert (bar.entity, bar.bytes) == ("rank:3", 80 * GIB)
    assert {part.kind: part.share for part in bar.parts} == {
        "gpu_allocated": 0.75, "gpu_cached": 0.15, "gpu_outside_or_others": 0.05, "gpu_free": 0.05,
    }  # fmt: skip


def test_older_messages_tell_what_is_reserved_in_all() -> None:
    (bar,) = bars(error(0, total=80 * GIB, allocated=60 * GIB, reserved=70 * GIB, free=10 * GIB))
    assert [part.kind for part in bar.parts] == ["gpu_allocated", "gpu_cached", "gpu_free"]


def test_a_bar_a_rank_in_order_of_its_first_error() -> None:
    full = {"total": 80 * GIB, "allocated": 70 * GIB, "free": GIB}
    found = bars(error(10, **full), error(2, **full), error(2, **{**full, "allocated": 10 * GIB}))
    assert [bar.entity for bar in found] == ["rank:2", "rank:10"]
    assert found[0].parts[0].share == 70 / 80


def test_parts_that_do_not_add_up_or_are_not_told_are_no_picture() -> None:
    assert not bars(error(0, total=80 * GIB, allocated=79 * GIB, free=4 * GIB))
    assert not bars(error(0, requested=GIB), error(None, total=0, allocated=0, free=0))
    assert memory_of(FactStore((), ())) is None


def test_categories_that_are_none_are_left_out() -> None:
    told = ("activations=4", "x", "=", "gradients=", "optimizer=-1", "parameters=1e9", "other=" + "9" * 5000)
    facts = [Fact("snapshot.peak_total", 8, "rank:0"), Fact("snapshot.peak_categories", told, "rank:0")]
    picture = memory_of(FactStore([*facts, Fact("snapshot.reserved", 8, "rank:0")], ()))
    assert picture is not None
    assert [(part.kind, part.share) for part in picture.bars[0].parts] == [("held_activations", 0.5)]
