"""Notes beside the evidence of a finding."""

from __future__ import annotations

import pytest

from doctor.engine.evidence import noted
from doctor.engine.model import Outcome
from doctor.facts.model import Event, Fact, FactSpec, Scope, Source, Value
from doctor.facts.store import FactStore
from doctor.rulebase.model import Text
from doctor.rulebase.truth import Truth

LOW = Event("mem.low", Source("log", "x", 1, "low"), {"free": 3 << 20})


def note(
    template: str, *facts: tuple[str, str, Value], truth: Truth = Truth.TRUE, entities: tuple[str, ...] = ()
) -> str:
    outcome = Outcome("s", truth, 1.0, "", events=(LOW,), entities=entities)
    store = FactStore(Fact(name, value, entity) for entity, name, value in facts)
    return noted((outcome,), {"s": Text(template)}, store)[0].note.en


def test_a_note_speaks_the_language_of_the_report() -> None:
    outcome = Outcome("s", Truth.TRUE, 1.0, "", events=(LOW,))
    text = noted((outcome,), {"s": Text("{low.free:bytes} free", "余 {low.free:bytes}")}, FactStore())[0].note
    assert (text.get("en"), text.get("zh")) == ("3 MiB free", "余 3 MiB")
    plain = noted((outcome,), {"s": Text("{low.free:bytes}")}, FactStore())[0].note
    assert plain.get("zh") == "3 MiB"


def test_fields_of_the_event_in_their_form() -> None:
    assert note("{low.free:bytes} free") == "3 MiB free"


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (2**64 - 1, ":bytes", "unlimited"),
        (0.5, ":percent", "50%"),
        (2.5, ":seconds", "2.5 s"),
        (("a", "b"), "", "a; b"),
    ],
)
def test_facts_in_their_form(value: Value, form: str, shown: str) -> None:
    assert note("{x.y" + form + "}", ("job", "x.y", value)) == shown


def test_the_fact_is_that_of_the_place_found() -> None:
    facts: list[tuple[str, str, Value]] = [("node:a", "x.y", "old"), ("node:b", "x.y", "new")]
    assert note("{x.y}", *facts, entities=("node:b",)) == "new"
    assert note("{x.y}", *facts) == ""
    assert note("{x.y}", facts[0]) == "old"


def test_a_value_that_stands_for_something_is_said_in_the_language_of_the_report() -> None:
    words = {"waits": {"en": "waiting for data", "zh": "等待数据"}}
    catalogue = {"x.y": FactSpec("x.y", "str", "1", Scope.JOB, "", words=words)}
    outcome, text = Outcome("s", Truth.TRUE, 1.0, ""), Text("slow: {x.y}", "慢：{x.y}")
    for value, shown in (("waits", ("slow: waiting for data", "慢：等待数据")), ("eth0", ("slow: eth0", "慢：eth0"))):
        note = noted((outcome,), {"s": text}, FactStore([Fact("x.y", value)]), catalogue)[0].note
        assert (note.get("en"), note.get("zh")) == shown


def test_no_note_without_its_values_or_for_what_does_not_hold() -> None:
    assert note("{x.unknown} lost") == ""
    assert note("{low.free}", truth=Truth.FALSE) == ""
    assert len(note("{x.y}", ("job", "x.y", "z" * 9999))) == 400
