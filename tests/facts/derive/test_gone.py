"""The rank that all others lost, and that says nothing, is the one that is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.facts.derive.gone import REPORTED, derive
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore


def seen(name: str, rank: int, line: int = 2, run: str = "job", **fields: Value) -> Event:
    return Event(name, Source("log", f"rank{rank}.log", line, f"{name} {line}"), fields, rank=rank, run=run)


def gone(*events: Event) -> dict[str, Value]:
    store = FactStore([], events)
    return {fact.entity: fact.value for fact in derive(store) if fact.name == "failure.gone"}


STEPS = [seen("progress.step", rank, 1) for rank in range(4)]
CLOSED = [seen("gloo.peer_closed", rank, follows=True) for rank in (0, 1, 3)]
RAISED = [seen("python.traceback", rank, symptom="fatal") for rank in (0, 1, 3)]


def test_all_but_one_lost_their_connection() -> None:
    assert gone(*STEPS, *CLOSED, *RAISED) == {"rank:2": True}


def test_as_long_as_another_one_says_nothing_nobody_is_named() -> None:
    assert gone(*STEPS, *CLOSED[:2]) == {}


def test_a_rank_that_tells_of_a_failure_of_its_own_is_not_gone_without_a_word() -> None:
    assert gone(*STEPS, *CLOSED, seen("torch.cuda_oom", 2, symptom="fatal")) == {}
    launcher = Event("host.sigkill", Source("log", "launch.log", 4, "-9"), {"symptom": "fatal"}, rank=2, run="other")
    assert gone(*STEPS, *CLOSED, launcher) == {}


def test_what_the_launcher_does_to_it_afterwards_is_no_failure_of_its_own() -> None:
    assert gone(*STEPS, *CLOSED, seen("torch.worker_failed", 2, 9, symptom="fatal", follows=True)) == {"rank:2": True}


def test_a_rank_that_never_printed_is_known_by_the_size_of_the_job() -> None:
    quiet = [event for event in STEPS if event.rank != 2]
    assert gone(*quiet, *CLOSED) == {}
    store = FactStore([Fact("config.world_size", 4)], [*quiet, *CLOSED])
    assert ("failure.gone", "rank:2") in {(fact.name, fact.entity) for fact in derive(store)}


def in_one_log(*events: Event) -> list[Event]:
    return [replace(event, source=replace(event.source, path="job.log")) for event in events]


REPORT = [seen(REPORTED, rank, 9, symptom="fatal", follows=True) for rank in (0, 1, 3)]
QUIET = [event for event in STEPS if event.rank != 2]


def test_a_rank_that_never_printed_is_the_one_that_the_launcher_does_not_report() -> None:
    assert gone(*in_one_log(*QUIET, *CLOSED, *REPORT)) == {"rank:2": True}
    assert gone(*in_one_log(*QUIET, *CLOSED[:2], *REPORT)) == {}  # rank 3 may be it as well


def test_a_rank_without_a_file_among_those_of_the_others_may_not_have_been_handed_over() -> None:
    assert gone(*QUIET, *CLOSED, *REPORT) == {}
    known = FactStore([Fact("config.world_size", 4)], [*QUIET, *CLOSED])
    assert "failure.unheard" in {fact.name for fact in derive(known)}
    assert "failure.unheard" not in {fact.name for fact in derive(FactStore([], [*STEPS, *CLOSED]))}


@pytest.mark.parametrize(
    "word",
    ["ERROR: validation of the data failed, giving up", "thread 'main' panicked at src/lib.rs:20:5:", "CANCELLED"],
)
def test_a_last_word_of_failure_is_a_word(word: str) -> None:
    last = Event("log.last_line", Source("log", "rank2.log", 5, word), rank=2)
    assert gone(*STEPS, *CLOSED, last) == {}
    assert gone(*STEPS, *CLOSED, replace(last, source=Source("log", "rank2.log", 5, "step 9 | errors 0"))) != {}


def test_one_that_was_killed_is_gone_though_the_others_waited_for_it() -> None:
    waited = [seen("gloo.timeout", 0), *CLOSED[1:]]
    for code, told in ((-9, "failure.gone"), (-15, "failure.awaited")):
        ended = seen(REPORTED, 2, 9, symptom="fatal", follows=True, exitcode=code)
        names = {fact.name for fact in derive(FactStore([], [*STEPS, *waited, ended]))}
        assert names == {told, "failure.peers"}


def test_words_of_nobody_may_be_those_of_the_rank_that_seems_silent() -> None:
    nobody = Event("gloo.peer_closed", Source("log", "job.log", 7, "peer closed, port 4"), {"follows": True})
    assert gone(*STEPS, *CLOSED, nobody) == {}
    again = Event("gloo.peer_closed", Source("log", "job.log", 8, CLOSED[0].source.text), {"follows": True})
    assert gone(*STEPS, *CLOSED, again) == {"rank:2": True}


def test_one_that_is_waited_for_until_a_time_out_is_not_gone() -> None:
    waited = [seen("gloo.timeout", 0), *CLOSED[1:]]
    facts = {fact.name: fact.value for fact in derive(FactStore([], [*STEPS, *waited]))}
    assert facts == {"failure.awaited": True, "failure.peers": 3}


def test_all_ranks_lost_each_other_and_two_ranks_tell_nobody() -> None:
    assert gone(*STEPS, *CLOSED, seen("gloo.peer_closed", 2, follows=True)) == {}
    assert gone(*STEPS[:2], CLOSED[0]) == {}
