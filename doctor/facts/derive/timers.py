"""Where the time of a step goes, by the timers of DeepSpeed and Megatron."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from doctor.facts.derive.progress import number
from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = (
    *("event:deepspeed.microstep_timers", "event:deepspeed.step_timers", "event:megatron.timers"),
    *("event:megatron.timer_range", "event:megatron.timer_rank"),
)
GIVES = (
    *("run.forward_time", "run.backward_time", "run.optimizer_time", "run.optimizer_share", "run.allreduce_share"),
    *("run.reduced_while_accumulating", "run.forward_spread"),
    *("run.slowest_rank", "run.slowest_rank_share", "run.rank_spread"),
)

BOUNDARY = 5.0
"""ms. DeepSpeed's step timer is some hundredths of a ms on micro-steps that only accumulate."""
TIMERS = ("deepspeed.microstep_timers", "deepspeed.step_timers", "megatron.timers")


def derive(store: FactStore) -> Iterator[Fact]:
    """Facts of each run that has timer lines; of the job when there is one run."""
    names = (*TIMERS, "megatron.timer_range", "megatron.timer_rank")
    events = [event for name in names for event in store.events(name)]
    by_run: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_run[event.run].append(event)
    for run, own in by_run.items():
        entity = "job" if len(by_run) == 1 else f"run:{run}"
        for name in TIMERS:
            chosen = [event for event in own if event.name == name and number(event, "forward_ms") is not None]
            if chosen:
                yield from _shares(entity, chosen)
                break
        else:
            yield from _optimizer_range(entity, [event for event in own if event.name == "megatron.timer_range"])
        yield from _ranges(entity, [event for event in own if event.name == "megatron.timer_range"])
        yield from _ranks(entity, [event for event in own if event.name == "megatron.timer_rank"])


def _shares(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    """Forward, backward and optimizer times of a whole step: micro-steps are summed up to the step that updates."""
    # The first micro-step compiles kernels and opens connections.
    usual = sorted(events[1:] if len(events) > 2 else events, key=lambda event: event.order)
    forward = [value for event in usual if (value := number(event, "forward_ms")) is not None]
    backward = [value for event in usual if (value := number(event, "backward_ms")) is not None]
    yield _fact("run.forward_time", median(forward) / 1000, entity, usual[:1])
    if not backward:
        return
    yield _fact("run.backward_time", median(backward) / 1000, entity, usual[:1])
    reduced = [value for event in usual if (value := number(event, "allreduce_ms")) is not None]
    total_backward = sum(backward)
    if reduced and total_backward > 0:
        yield _fact("run.allreduce_share", min(sum(reduced) / total_backward, 1.0), entity, usual[:1])
    updates = [event for event in usual if (number(event, "step_ms") or 0.0) > BOUNDARY]
    between = [event for event in usual if event not in updates and number(event, "allreduce_ms") is not None]
    if between and updates:
        reducing = [event for event in between if (number(event, "allreduce_ms") or 0.0) > BOUNDARY]
        yield _fact("run.reduced_while_accumulating", len(reducing) / len(between), entity, between[:2])
    if not updates:
        return
    steps = [value for event in updates if (value := number(event, "step_ms")) is not None]
    whole = sum(forward) + total_backward + sum(steps)
    yield _fact("run.optimizer_time", median(steps) / 1000, entity, updates[:2])
    yield _fact("run.optimizer_share", sum(steps) / whole, entity, updates[:2])


def _ranges(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    """Least and greatest over the ranks: a wide forward-compute range is a slow rank or an uneven stage."""
    compute = [event for event in events if event.fields.get("timer") == "forward-compute"]
    spreads = [(high / low, e) for e in compute if (low := number(e, "min_ms")) and (high := number(e, "max_ms"))]
    if spreads:
        middle = median(spread for spread, _ in spreads)
        near = min(spreads, key=lambda pair: abs(pair[0] - middle))[1]
        yield _fact("run.forward_spread", middle, entity, [near])


def _optimizer_range(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    """Optimizer time where Megatron prints one timer a line: beside it `forward-backward` is all of the passes."""
    by_timer = {
        name: [event for event in events if event.fields.get("timer") == name and number(event, "max_ms") is not None]
        for name in ("optimizer", "forward-backward")
    }
    # The first report covers the step that compiles kernels and opens connections.
    usual = {name: found[1:] if len(found) > 2 else found for name, found in by_timer.items()}
    if not all(usual.values()):
        return
    update, passes = (median(number(event, "max_ms") or 0.0 for event in found) for found in usual.values())
    if update + passes <= 0:
        return
    shown = [usual["optimizer"][0], usual["forward-backward"][0]]
    yield _fact("run.optimizer_time", update / 1000, entity, shown[:1])
    yield _fact("run.optimizer_share", update / (update + passes), entity, shown)


def _ranks(entity: str, events: Sequence[Event]) -> Iterator[Fact]:
    """Who is slowest, how often it is the same rank, and by how much, where every rank is printed."""
    rounds: list[dict[int, Event]] = []
    for event in sorted(events, key=lambda event: event.order):
        rank = event.fields.get("timed_rank")
        if not isinstance(rank, int):
            continue
        if not rounds or rank in rounds[-1]:
            rounds.append({})
        rounds[-1][rank] = event
    rounds = [one for one in rounds if len(one) > 1]
    slowest = [max(one.values(), key=lambda event: number(event, "time_ms") or 0.0) for one in rounds]
    if not slowest:
        return
    ranks = [int(number(event, "timed_rank") or 0) for event in slowest]
    usual = max(set(ranks), key=ranks.count)
    shown = [event for event, rank in zip(slowest, ranks, strict=True) if rank == usual][:3]
    yield _fact("run.slowest_rank", usual, entity, shown)
    yield _fact("run.slowest_rank_share", ranks.count(usual) / len(ranks), entity, shown)
    ratios = []
    for one, top in zip(rounds, slowest, strict=True):
        typical = median(number(event, "time_ms") or 0.0 for event in one.values())
        if typical > 0:
            ratios.append((number(top, "time_ms") or 0.0) / typical)
    if ratios:
        yield _fact("run.rank_spread", median(ratios), entity, shown)


def _fact(name: str, value: Value, entity: str, events: Sequence[Event]) -> Fact:
    return Fact(name, value, entity, Source("derived"), None, Quality.DERIVED, tuple(event.source for event in events))
