"""What a signal asks for is found, whatever is shared between events, entities and rules while it is looked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.engine.observe import look
from doctor.engine.situation import Situation
from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore
from doctor.rulebase.expression import evaluate
from doctor.rulebase.model import Signal
from doctor.rulebase.truth import Truth
from tests.support import EVENTS, event, store

OOM = ("torch.cuda_oom",)


def situation(*known: Fact | Event) -> Situation:
    return Situation(store(*known), dict(EVENTS))


def ranks(signal: Signal, seen_in: Situation, entity: str = "job") -> list[int | None]:
    return [event.rank for event in look(signal, seen_in, entity).events]


def test_of_events_that_say_the_same_each_is_judged_by_its_own_rank() -> None:
    alike = [event("torch.cuda_oom", 1, rank, f"{rank}.log", requested=4) for rank in (0, 1, 2)]
    limits = [Fact("gpu.memory_used", used, f"rank:{rank}") for rank, used in ((0, 2), (1, 8))]
    seen_in = situation(*alike, *limits)
    assert ranks(Signal("s", OOM, "requested > 3"), seen_in) == [0, 1, 2]
    assert ranks(Signal("s", OOM, "rank > 0"), seen_in) == [1, 2]
    assert ranks(Signal("s", OOM, "requested > gpu.memory_used"), seen_in) == [0]
    assert ranks(Signal("s", OOM, "path == '1.log'"), seen_in) == [1]


def test_where_is_unknown_only_if_no_event_decides() -> None:
    seen_in = situation(event("torch.cuda_oom", 1, 0), event("torch.cuda_oom", 2, 1, requested=4))
    assert look(Signal("s", OOM, "requested > 3"), seen_in, "job").truth is Truth.TRUE
    doubt = look(Signal("s", OOM, "requested > 4"), seen_in, "job")
    assert (doubt.truth, doubt.missing) == (Truth.UNKNOWN, ("requested",))
    assert look(Signal("s", OOM, "rank > 4"), seen_in, "job").truth is Truth.FALSE


def test_what_is_known_of_the_job_holds_for_each_rank_and_is_shown_there() -> None:
    seen_in = situation(Fact("config.tp", 8), Fact("rank.host", "n1", "rank:0"), Fact("rank.host", "n1", "rank:1"))
    wide = Signal("s", when="config.tp > 4")
    assert look(wide, seen_in, "rank:1").entities == ("rank:1",)
    assert look(wide, seen_in, "rank:0").entities == ("rank:0",)
    assert look(Signal("s", when="config.tp > 8"), seen_in, "rank:0").truth is Truth.FALSE
    assert look(Signal("s", when="config.pp > 8"), seen_in, "rank:0").missing == ("config.pp",)


def test_what_is_known_of_one_rank_does_not_hold_for_another() -> None:
    seen_in = situation(Fact("rank.slow", True, "rank:1"), Fact("config.tp", 8))
    for text in ("rank.slow", "known(rank.slow)", "known('rank.slow')", "any(rank, rank.slow)", "fact('rank.slow')"):
        assert look(Signal("s", when=text), seen_in, "rank:1").truth is Truth.TRUE, text
        assert look(Signal("s", when=text), seen_in, "rank:0").truth is not Truth.TRUE, text


@pytest.mark.parametrize("side", ["before", "after"])
def test_nothing_lies_before_or_after_what_never_came(side: str) -> None:
    seen_in = situation(event("torch.cuda_oom", 1, 0))
    signal = Signal("s", OOM, **{side: "torch.watchdog_timeout"})  # type: ignore[arg-type]
    assert look(signal, seen_in, "job").truth is Truth.FALSE


def test_rules_that_ask_for_more_of_the_same_do_not_share_an_answer() -> None:
    seen_in = situation(event("torch.cuda_oom", 1, 0), event("torch.cuda_oom", 2, 0))
    found = [
        look(Signal("s", OOM, count=n, ranks=r), seen_in, "job").truth for n, r in ((1, 1), (2, 1), (3, 1), (1, 2))
    ]
    assert found == [Truth.TRUE, Truth.TRUE, Truth.FALSE, Truth.FALSE]


CONDITIONS = ("requested > 2", "requested > rank", "known(requested)", "rank in [1, 2] or requested == 3", "step != 2")
NUMBERS = st.integers(0, 4)


@given(
    st.lists(st.tuples(NUMBERS, st.fixed_dictionaries({}, optional={"requested": NUMBERS, "step": NUMBERS}))),
    st.sampled_from(CONDITIONS),
)
def test_the_matches_are_the_events_for_which_where_is_true(told: list[tuple[int, dict[str, int]]], text: str) -> None:
    events = [replace(event("torch.cuda_oom", n, rank), fields=fields) for n, (rank, fields) in enumerate(told)]
    seen_in = Situation(FactStore((), events), dict(EVENTS))
    values = [evaluate(text, seen_in.lookup(f"rank:{one.rank}", one)).value for one in events]
    assert list(look(Signal("s", OOM, text), seen_in, "job").events) == [
        e for e, v in zip(events, values, strict=True) if v
    ]
