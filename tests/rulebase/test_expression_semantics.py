"""What an expression means, stated once more as plainly as can be, and compared with what evaluating it gives.

Expressions are made as trees: (operator, parts...). `meaning` says what a tree stands for, `text` how it is written.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from doctor.engine.situation import Situation
from doctor.facts.model import Event, Fact, Source
from doctor.facts.store import FactStore
from doctor.rulebase.expression import evaluate

Tree: TypeAlias = tuple[Any, ...]

JOB_FACTS = ("config.tp", "config.pp", "config.micro_batch")
GPU_FACTS = ("gpu.memory_used", "gpu.power")
FIELDS = ("requested", "config.tp")
"""Of the event; a field hides the fact of the same name."""
EVENTS = ("torch.cuda_oom", "torch.watchdog_timeout")
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod}
COMPARED = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt}


@dataclass(frozen=True)
class World:
    """What is known: of the job, of each of its cards, of the event, and how often each event was seen."""

    job: Mapping[str, int]
    cards: tuple[Mapping[str, int], ...]
    fields: Mapping[str, int]
    seen: Mapping[str, int]


@dataclass(frozen=True)
class Told:
    """A value, None when unknown, and what it rests on; each may be named more than once."""

    value: Any
    used: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


def resting_on(value: Any, parts: Iterable[Told]) -> Told:
    """`value`, computed from `parts`."""
    parts = tuple(parts)
    return Told(
        value,
        tuple(one for part in parts for one in part.used),
        tuple(one for part in parts for one in part.missing),
        tuple(one for part in parts for one in part.places),
    )


def meaning(tree: Tree, world: World, card: int | None = None) -> Told:
    kind, *parts = tree
    match kind:
        case "number":
            return Told(parts[0])
        case "name":
            return named(parts[0], world, card)
        case "known":
            told = named(parts[0], world, card)
            return Told(told.value is not None, told.used)
        case "seen" | "count":
            times = world.seen.get(parts[0], 0) if any(world.seen.values()) or world.fields else None
            if times is None:
                return Told(None, missing=(f"event:{parts[0]}",))
            return Told(times > 0 if kind == "seen" else times)
        case "and" | "or":
            told = up_to((meaning(part, world, card) for part in parts), decides=kind == "or")
            decided = told[-1].value is not None and bool(told[-1].value) is (kind == "or")
            unknown = any(one.value is None for one in told)
            return resting_on(kind == "or" if decided else None if unknown else kind == "and", told)
        case "not" | "minus":
            inner = meaning(parts[0], world, card)
            value = None if inner.value is None else not inner.value if kind == "not" else -inner.value
            return Told(value, inner.used, inner.missing)
        case "compare":
            links = parts[1]
            terms = [meaning(parts[0], world, card)]
            held: list[bool | None] = []
            for sign, part in links:
                terms.append(meaning(part, world, card))
                left, right = terms[-2].value, terms[-1].value
                held.append(None if left is None or right is None else COMPARED[sign](left, right))
                if held[-1] is False:
                    break
            return resting_on(False if False in held else None if None in held else True, terms)
        case "all over" | "any over" | "count over" | "max over":
            return over(kind, parts[0], world, card)
    left, right = meaning(parts[0], world, card), meaning(parts[1], world, card)
    known = left.value is not None and right.value is not None and not (kind in "/%" and right.value == 0)
    return resting_on(ARITHMETIC[kind](left.value, right.value) if known else None, (left, right))


def named(name: str, world: World, card: int | None) -> Told:
    """A field of the event, else a fact of the card, else one of the job."""
    if name in world.fields:
        return Told(world.fields[name])
    if card is not None and name in world.cards[card]:
        return Told(world.cards[card][name], used=((name, f"gpu:n1/{card}"),))
    if name in world.job:
        return Told(world.job[name], used=((name, "job"),))
    return Told(None, missing=(name,))


def up_to(parts: Iterable[Told], decides: bool) -> list[Told]:
    """The parts as far as they are looked at: to the first that decides."""
    looked_at = []
    for part in parts:
        looked_at.append(part)
        if part.value is not None and bool(part.value) is decides:
            break
    return looked_at


def over(kind: str, inner: Tree, world: World, card: int | None) -> Told:
    """A condition or a number for every card, of which a card itself has one."""
    cards = [number for number, known in enumerate(world.cards) if known and card in (None, number)]
    told = [meaning(inner, world, number) for number in cards]
    values = [one.value for one in told]
    if kind == "count over":
        return resting_on(sum(bool(value) for value in values), told)
    if kind == "max over":
        return resting_on(max((value for value in values if value is not None), default=None), told)
    if kind == "all over":
        value = (
            False if any(v is not None and not v for v in values) else None if None in values or not values else True
        )
        return resting_on(value, told)
    holding = [one for one in told if one.value]
    rest = [one for one in told if not one.value]
    everything = resting_on(bool(holding) or (None if None in values else False), told)
    proof = resting_on(None, holding).used or resting_on(None, rest).used
    held_at = tuple(f"gpu:n1/{number}" for number, one in zip(cards, told, strict=True) if one.value)
    return Told(everything.value, proof, everything.missing, (*everything.places, *held_at))


def text(tree: Tree) -> str:
    kind, *parts = tree
    match kind:
        case "number" | "name":
            return str(parts[0])
        case "known":
            return f"known({parts[0]})"
        case "seen" | "count":
            return f"{kind}('{parts[0]}')"
        case "and" | "or":
            return "(" + f" {kind} ".join(text(part) for part in parts) + ")"
        case "not":
            return f"(not {text(parts[0])})"
        case "minus":
            return f"(-{text(parts[0])})"
        case "compare":
            return f"({text(parts[0])}" + "".join(f" {sign} {text(part)}" for sign, part in parts[1]) + ")"
        case "all over" | "any over" | "count over" | "max over":
            return f"{kind.removesuffix(' over')}(gpu, {text(parts[0])})"
    return f"({text(parts[0])} {kind} {text(parts[1])})"


def trees() -> st.SearchStrategy[Tree]:
    """Conditions of some depth."""
    names = st.sampled_from([*JOB_FACTS, *GPU_FACTS, *FIELDS])
    numbers: st.SearchStrategy[Tree] = st.one_of(
        st.tuples(st.just("number"), st.integers(0, 4)),
        st.tuples(st.just("name"), names),
        st.tuples(st.just("count"), st.sampled_from(EVENTS)),
    )
    conditions: st.SearchStrategy[Tree] = st.one_of(
        st.tuples(st.just("known"), names), st.tuples(st.just("seen"), st.sampled_from(EVENTS))
    )
    for _ in range(3):
        links = st.lists(st.tuples(st.sampled_from(list(COMPARED)), numbers), min_size=1, max_size=2)
        signs = st.sampled_from(list(ARITHMETIC))
        numbers, conditions = (
            st.one_of(
                numbers,
                st.tuples(signs, numbers, numbers),
                st.tuples(st.just("minus"), numbers),
                st.tuples(st.just("max over"), numbers),
                st.tuples(st.just("count over"), conditions),
            ),
            st.one_of(
                conditions,
                st.tuples(st.just("compare"), numbers, links),
                st.tuples(st.sampled_from(["and", "or"]), conditions, conditions, conditions),
                st.tuples(st.just("not"), conditions),
                st.tuples(st.sampled_from(["any over", "all over"]), conditions),
            ),
        )
    return conditions


def known(names: Iterable[str]) -> st.SearchStrategy[dict[str, int]]:
    return st.dictionaries(st.sampled_from(list(names)), st.integers(0, 4))


WORLDS = st.builds(
    World,
    job=known([*JOB_FACTS, *GPU_FACTS]),
    cards=st.lists(known(GPU_FACTS), max_size=3).map(tuple),
    fields=known(FIELDS),
    seen=known(EVENTS),
)


@given(trees(), WORLDS)
def test_an_expression_gives_what_it_means(tree: Tree, world: World) -> None:
    facts = [Fact(name, value) for name, value in world.job.items()]
    facts += [Fact(n, v, f"gpu:n1/{index}") for index, card in enumerate(world.cards) for n, v in card.items()]
    subject = Event("torch.nccl_error", Source("log", "a.log", 1), dict(world.fields)) if world.fields else None
    events = [Event(name, Source("log", "a.log", 2)) for name, times in world.seen.items() for _ in range(times)]
    situation = Situation(FactStore(facts, [*events, *([subject] if subject else [])]), {})

    found, told = evaluate(text(tree), situation.lookup("job", subject)), meaning(tree, world)

    assert found.value == told.value and type(found.value) is type(told.value)
    assert [(fact.name, fact.entity) for fact in found.used] == list(dict.fromkeys(told.used))
    assert found.missing == tuple(dict.fromkeys(told.missing))
    assert found.places == tuple(dict.fromkeys(told.places))
