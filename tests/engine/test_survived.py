"""An exception counts unless the job made steps after it and nothing tells that a process ended."""

from doctor.engine.survived import caught, milestones, reported_ends, went_on
from doctor.facts.model import Event, EventSpec, Symptom
from tests.support import event, store

SPECS = {
    "step": EventSpec("step", ("step",), phase="training"),
    "import": EventSpec("import", ("import",), symptom=Symptom.FATAL, raised=True),
    "ended": EventSpec("ended", ("ended",), symptom=Symptom.FATAL, follows=True),
}


def steps(first: int, count: int, rank: int | None = None) -> list[Event]:
    return [event("step", first + i, step=i, rank=rank) for i in range(count)]


def survivors(*events: Event) -> list[Event]:
    known = store(*events)
    return caught(known.events("import"), milestones(known, SPECS), reported_ends(known, SPECS))


def test_an_exception_before_steps_was_caught() -> None:
    raised = event("import", 1)
    assert survivors(raised, *steps(2, 3)) == [raised]


def test_one_at_the_end_was_not() -> None:
    assert survivors(*steps(1, 3), event("import", 4)) == []


def test_two_steps_may_have_been_on_their_way() -> None:
    assert survivors(event("import", 1), *steps(2, 2)) == []


def test_a_process_that_ended_after_it_did_not_survive() -> None:
    assert survivors(event("import", 1), *steps(2, 3), event("ended", 9)) == []


def test_steps_of_another_rank_are_no_sign_of_life() -> None:
    raised = event("import", 1, rank=0)
    told = milestones(store(raised, *steps(2, 3, rank=1)), SPECS)
    assert not went_on(raised, told[raised.source.path], 1)
