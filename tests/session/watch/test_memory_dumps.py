"""When snapshots of GPU memory are asked for, and of whom."""

from __future__ import annotations

import time
from dataclasses import replace

from doctor.facts.model import Fact, Value
from doctor.facts.store import FactStore
from doctor.session.notes import Note
from doctor.session.watch.memory_dumps import APART, FAR, MOST_RANKS, MemoryDumps, chosen, creeping, filling
from doctor.session.watch.model import Kind
from probes.node.interface.host import this_host
from probes.node.interface.processes import Rank
from tests.session.watch.announcements import said


def store(*facts: tuple[str, Value, str]) -> FactStore:
    return FactStore([Fact(name, value, entity) for name, value, entity in facts])


CREEPS = ("live.memory_creep", 4e6, "rank:2")


def test_memory_that_creeps_is_asked_of_its_rank() -> None:
    assert filling(store(CREEPS)) == creeping(store(CREEPS)) == (2,)
    assert filling(store(CREEPS, ("live.memory_creep", 4e6, "rank:5"))) == (2, 5)
    assert filling(store(("live.memory_creep", 4e6, "job"))) == ()


def test_memory_that_has_room_for_long_or_does_not_grow_is_not() -> None:
    assert filling(store(CREEPS, ("live.memory_steps_left", FAR, "rank:2"))) is None
    assert filling(store(CREEPS, ("live.memory_steps_left", FAR - 1, "rank:2"))) == (2,)
    assert filling(store(("live.memory_creep", 0.0, "rank:2"))) is None
    assert filling(store(("live.memory_used", 7e10, "rank:2"), ("mem.grows", False, "job"))) is None
    assert filling(store()) is None


def test_an_allocator_that_retries_is_about_to_run_out_where_that_is_told() -> None:
    assert filling(store(("mem.retries", 3, "rank:1"))) == (1,)
    assert filling(store(("run.alloc_retries", 1, "job"))) == ()
    assert filling(store(("run.alloc_retries", 0, "job"))) is None
    assert creeping(store(("mem.retries", 3, "rank:1"), ("mem.grows", True, "job"))) is None


def test_of_many_ranks_few_are_asked_and_where_none_is_named_the_first() -> None:
    here = [Rank(100 + rank, 1, rank, rank, {}, ()) for rank in range(8, 16)]
    assert [rank.rank for rank in chosen(here, (2, 9, 11))] == [9, 11]
    assert [rank.rank for rank in chosen(here, range(16))] == [8, 9, 10, 11][:MOST_RANKS]
    assert [rank.rank for rank in chosen(here, ())] == [8]
    assert chosen(here, (2,)) == []


def test_it_is_taken_at_once_and_not_again_for_a_while() -> None:
    """The job of that name is nobody's, which costs a note each time."""
    now, notes = [1000.0], list[Note]()
    dumps = MemoryDumps(this_host(job="no such job"), list, notes.append, lambda *_: None, lambda: now[0])
    full = replace(said().report, store=store(CREEPS))

    def taken(count: int) -> bool:
        end = time.monotonic() + 60.0
        while len(notes) < count and time.monotonic() < end:
            time.sleep(0.01)
        return len(notes) == count

    dumps(said())
    dumps.look(said().report)
    dumps(said(kind=Kind.RESOLVED, report=full))
    assert taken(0)
    dumps.look(full)
    assert taken(1) and notes[0] == Note("attach.no_slurm_here", "memory", {"job": "no such job"})
    now[0] += APART - 1
    dumps(said(report=full))
    dumps.look(full)
    now[0] += 1
    dumps(said(report=full))
    assert taken(2)
    dumps.close()
    now[0] += APART
    dumps.look(full)
    assert taken(2)
