"""The rank that timed out at another line of the job's own code than the others."""

from __future__ import annotations

from dataclasses import replace

from doctor.facts.derive.waited_at import derive
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore


def waited(rank: int, place: str, name: str = "gloo.timeout") -> Event:
    fields = {"own_frame": f"{place}: call()"} if place else {}
    return Event(name, Source("log", "job.log", rank, f"rank {rank} {name}"), fields, rank=rank)


def told(*events: Event, name: str = "failure.elsewhere") -> dict[str, Value]:
    return {fact.entity: fact.value for fact in derive(FactStore([], events)) if fact.name == name}


LOSS, SAVE = "train.py:9 in step", "train.py:30 in save"


def test_the_one_among_many() -> None:
    events = [*(waited(rank, LOSS) for rank in (0, 1, 3)), waited(2, SAVE)]
    assert told(*events) == {"rank:2": SAVE}
    assert told(*events, name="failure.others_at") == {"rank:2": LOSS}
    assert told(*events, name="failure.others") == {"rank:2": 3}


def test_of_two_both_are_told() -> None:
    assert told(waited(0, SAVE), waited(1, LOSS)) == {"rank:0": SAVE, "rank:1": LOSS}


def test_who_lost_a_peer_counts_where_others_timed_out_and_is_not_told_itself() -> None:
    lost = [waited(rank, LOSS, "gloo.peer_closed") for rank in (0, 1)]
    assert told(*lost, waited(2, SAVE)) == {}
    assert told(*lost, waited(2, SAVE), waited(3, LOSS)) == {"rank:2": SAVE}
    assert told(waited(0, LOSS), waited(1, LOSS), waited(2, SAVE, "gloo.peer_closed")) == {}


def test_all_at_one_line_or_at_an_unknown_one() -> None:
    assert told(*(waited(rank, LOSS) for rank in range(4))) == {}
    assert told(waited(0, LOSS), waited(1, LOSS), waited(2, "")) == {}


def test_who_is_silent_or_failed_by_itself_explains_the_waits_of_the_others() -> None:
    waits = [waited(0, LOSS), waited(1, LOSS), waited(2, SAVE)]
    step = Event("progress.step", Source("log", "job.log", 9, "step 9"), rank=3)
    failed = Event("torch.cuda_oom", Source("log", "job.log", 9, "out of memory"), {"symptom": "fatal"}, rank=1)
    assert told(*waits) == {"rank:2": SAVE}
    assert told(*waits, step) == {}
    assert told(*waits, failed) == {}


def test_ranks_of_several_groups_stand_at_several_lines() -> None:
    waits = [waited(0, LOSS), waited(1, LOSS), waited(2, SAVE)]
    facts = list(derive(FactStore([Fact("config.pp", 2)], waits)))
    assert facts == []
    of_group = replace(waits[2], fields={"own_frame": f"{SAVE}: dist.all_reduce(x, group=tp)"})
    stage = replace(waits[2], fields={"own_frame": f"{SAVE}: x = recv_forward(shape)"})
    assert told(*waits[:2], of_group) == told(*waits[:2], stage) == {}
