"""Looks for the signals of a rule: which hold, which do not, which cannot be told, and what shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TypeAlias

from doctor.engine.model import Outcome
from doctor.engine.situation import Seen, Situation
from doctor.facts.model import Event, Source, Value
from doctor.rulebase.expression import Evaluation, evaluate, fact_names, reads
from doctor.rulebase.model import Signal
from doctor.rulebase.truth import Truth, disjunction

SHOWN_EVENTS = 6
"""Occurrences whose lines are quoted as proof of one signal; the rest is counted."""

Captures: TypeAlias = tuple[Value | None, ...]


def observe(signal: Signal, situation: Situation, entity: str) -> Outcome:
    """The outcome of `signal` for `entity`, with its weight in the belief."""
    seen = look(signal, situation, entity)
    text = signal.when
    if signal.events:
        text = " or ".join(signal.events) + (f" where {signal.where}" if signal.where else "")
    return Outcome(
        signal.name,
        seen.truth,
        signal.weight(seen.truth),
        text,
        seen.sources,
        seen.missing,
        events=seen.events,
        entities=seen.entities,
    )


def look(signal: Signal, situation: Situation, entity: str) -> Seen:
    """Looks for what `signal` asks for, once for all rules, and once for all entities where they cannot differ."""
    if signal.when and entity != "job" and situation.alike(signal.when):
        seen = look(signal, situation, "job")
        if seen.truth is not Truth.TRUE:  # what holds is to be shown where it does
            return seen
    asked = (signal.events, signal.where or signal.when, signal.count, signal.ranks)
    key = (*asked, signal.position, signal.before, signal.after, entity)
    if key not in situation.seen:
        found = _event(signal, situation, entity) if signal.events else _fact(signal, situation, entity)
        situation.seen[key] = found
    return situation.seen[key]


def _event(signal: Signal, situation: Situation, entity: str) -> Seen:
    """TRUE when enough occurrences match; without any log nothing can be said of their absence."""
    candidates = [event for name in signal.events for event in situation.events(name, entity)]
    missing: dict[str, None] = {}
    matching, doubtful = candidates, False
    if signal.where or signal.position or signal.before or signal.after:
        truths = _truths(signal, candidates, situation, entity, missing)
        matching = [event for event, truth in zip(candidates, truths, strict=True) if truth is Truth.TRUE]
        doubtful = Truth.UNKNOWN in truths
    ranks = len({event.rank for event in matching}) if signal.ranks > 1 else len(matching)
    if len(matching) >= signal.count and ranks >= signal.ranks:
        return Seen(Truth.TRUE, _sources(matching), events=tuple(matching), entities=_places(matching))
    if doubtful or not (candidates or situation.logs_read):
        return Seen(Truth.UNKNOWN, missing=tuple(missing) or tuple(f"event:{name}" for name in signal.events))
    return Seen(Truth.FALSE)


def _truths(
    signal: Signal, candidates: Sequence[Event], situation: Situation, entity: str, missing: dict[str, None]
) -> list[Truth]:
    """For each of `candidates` whether it matches; what `where` lacks for that is added to `missing`."""
    other = signal.before or signal.after
    if other and not situation.events(other, entity):
        return [Truth.FALSE] * len(candidates)
    known: dict[Captures, Evaluation] = {}
    truths: list[Truth] = []
    for event in candidates:
        truth = _placed(signal, event, situation, entity)
        if truth is Truth.TRUE and signal.where:
            evaluation = _where(signal.where, event, situation, entity, known)
            if evaluation.value is None:
                missing.update(dict.fromkeys(evaluation.missing))
            truth = Truth.of(evaluation.value)
        truths.append(truth)
    return truths


def _placed(signal: Signal, event: Event, situation: Situation, entity: str) -> Truth:
    """Is the event where the signal wants it: at an end of its log, before or after another one?"""
    if signal.position == "last" and not situation.is_last(event):
        return Truth.FALSE
    if signal.position == "first" and not situation.is_first(event):
        return Truth.FALSE
    if signal.before and (truth := situation.span(signal.before, entity).after(event)) is not Truth.TRUE:
        return truth
    if signal.after and (truth := situation.span(signal.after, entity).before(event)) is not Truth.TRUE:
        return truth
    return Truth.TRUE


def _where(text: str, event: Event, situation: Situation, entity: str, known: dict[Captures, Evaluation]) -> Evaluation:
    """What `text` gives for the event: once for all events whose captures are alike, where it reads nothing else."""
    names = reads(text)
    captures = None if names is None else tuple([event.fields.get(name) for name in names])
    if captures in known:
        return known[captures]
    place = entity if entity != "job" or event.rank is None else f"rank:{event.rank}"
    evaluation = evaluate(text, situation.lookup(place, event, entity))
    if captures is not None and None not in captures:
        known[captures] = evaluation
    return evaluation


def _fact(signal: Signal, situation: Situation, entity: str) -> Seen:
    """TRUE when the condition holds for the entity or for some entity inside it: it is there that it holds."""
    truths: list[Truth] = []
    sources: dict[Source, None] = {}
    missing: dict[str, None] = {}
    places: list[str] = []
    for place in situation.entities_of(fact_names(signal.when), entity):
        evaluation = evaluate(signal.when, situation.lookup(place, within=entity))
        truth = Truth.of(evaluation.value)
        truths.append(truth)
        if truth is Truth.TRUE:
            places += evaluation.places if place == "job" and evaluation.places else (place,)
            for fact in evaluation.used:
                sources.update(dict.fromkeys(fact.because or (fact.source,)))
        elif truth is Truth.UNKNOWN:
            missing.update(dict.fromkeys(evaluation.missing))
    truth = disjunction(truths)
    if truth is Truth.TRUE:
        shown = tuple(source for source in sources if source.text or source.path)
        return Seen(truth, shown, entities=tuple(place for place in places if place != "job"))
    return Seen(truth, missing=tuple(missing) if truth is Truth.UNKNOWN else ())


def _sources(events: Sequence[Event]) -> tuple[Source, ...]:
    """The lines to quote: the occurrences spread over ranks, the first one with its context."""
    chosen: list[Event] = []
    seen: set[tuple[int | None, str]] = set()
    for event in events:
        if len(chosen) >= SHOWN_EVENTS:
            break
        key = (event.rank, event.source.path)
        if key not in seen:
            seen.add(key)
            chosen.append(event)
    for event in events:
        if len(chosen) >= SHOWN_EVENTS:
            break
        if event not in chosen:
            chosen.append(event)
    sources: dict[Source, None] = {}
    for position, event in enumerate(chosen):
        sources[event.source] = None
        if position == 0:
            sources.update(dict.fromkeys(event.context))
    return tuple(sources)


def _places(events: Iterable[Event]) -> tuple[str, ...]:
    """The ranks the events come from, or their nodes where the rank is not known."""
    places: dict[str, None] = {}
    for rank, host in dict.fromkeys(map(attrgetter("rank", "host"), events)):
        if rank is not None:
            places[f"rank:{rank}"] = None
        elif host:
            places[f"node:{host}"] = None
    return tuple(places)
