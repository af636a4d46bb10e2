"""How evenly the tokens of a mixture-of-experts model are spread, whichever way the program prints it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median

from doctor.facts.derive.progress import number
from doctor.facts.expert_load import FEWEST_STEPS, drift, trend
from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = (
    *("event:moe.tokens", "event:moe.rank_tokens", "event:moe.overload", "event:moe.violation"),
    *(
        "event:moe.balance_loss",
        "event:moe.routing",
        "moe.tokens_per_expert_max_over_mean",
        "moe.tokens_per_rank_max_over_mean",
    ),
)
GIVES = ("moe.overload", "moe.overload_usual", "moe.balance_loss", "moe.trend", "moe.drift", "moe.balance_trend")

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?!\d)")
TABLES = ("moe.tokens_per_expert_max_over_mean", "moe.tokens_per_rank_max_over_mean")
FEWEST = 2
COLLAPSED = 0.9
"""Share of some tokens that one expert gets by no chance."""


def derive(store: FactStore) -> Iterator[Fact]:
    """Greatest load over the mean: the worst and the usual one; 1.0 is even."""
    ratios: list[tuple[float, Source]] = []
    for name in TABLES:
        for fact in store.every(name):
            if isinstance(fact.value, int | float) and fact.value >= 1:
                ratios.append((float(fact.value), fact.source))
    for event in store.events("moe.overload"):
        if (factor := number(event, "factor")) is not None and factor >= 1:
            ratios.append((factor, event.source))
    for event in store.events("moe.violation"):
        if (above := number(event, "violation")) is not None:
            ratios.append((1 + above, event.source))
    for event in store.events("moe.tokens"):
        if (ratio := uneven(_loads(str(event.fields.get("tokens", ""))))) is not None:
            ratios.append((ratio, event.source))
    for event in store.events("moe.routing"):
        if (ratio := collapsed(str(event.fields.get("chosen", "")))) is not None:
            ratios.append((ratio, event.source))
    ratios += _by_rank(store.events("moe.rank_tokens"))
    if ratios:
        worst = max(ratios, key=lambda pair: pair[0])
        yield _fact("moe.overload", worst[0], [worst[1]])
        usual = median(ratio for ratio, _ in ratios)
        near = min(ratios, key=lambda pair: abs(pair[0] - usual))
        yield _fact("moe.overload_usual", usual, [near[1]])
    losses = [(value, event) for event in store.events("moe.balance_loss") if (value := number(event, "value"))]
    if losses:
        late = losses[-max(len(losses) // 3, 1) :]
        yield _fact("moe.balance_loss", median(value for value, _ in late), [late[-1][1].source])
    yield from _course(store)


def _course(store: FactStore) -> Iterator[Fact]:
    """How the load changes over the steps: the log in which it gets worse by most."""
    factors = [
        *_series(store.events("moe.overload"), lambda event: number(event, "factor")),
        *_series(store.events("moe.violation"), lambda e: None if (v := number(e, "violation")) is None else 1 + v),
    ]
    lists = [(event, loads) for event in store.events("moe.tokens") if (loads := _loads(str(event.fields["tokens"])))]
    layers = _layers(lists)
    factors += [[(event, ratio) for event, loads in rows if (ratio := uneven(loads))] for rows in layers]
    if found := _worst(factors):
        yield _fact("moe.trend", *found)
    moved = [
        (drift([(place, loads) for place, (_, loads) in enumerate(rows)]), [rows[0][0].source, rows[-1][0].source])
        for rows in layers
        if len(rows) >= FEWEST_STEPS
    ]
    if moved:
        yield _fact("moe.drift", *max(moved, key=lambda pair: pair[0]))
    if found := _worst(_series(store.events("moe.balance_loss"), lambda event: number(event, "value"))):
        yield _fact("moe.balance_trend", *found)


def _series(events: Sequence[Event], value: Callable[[Event], float | None]) -> list[list[tuple[Event, float]]]:
    """Values that are above zero, in order, a list for each log: several logs of one run say the same twice."""
    found: dict[tuple[str, str], list[tuple[Event, float]]] = defaultdict(list)
    for event in events:
        if (known := value(event)) is not None and known > 0:
            found[event.run, event.source.path].append((event, known))
    return [sorted(rows, key=lambda row: row[0].order) for rows in found.values()]


def _layers(lists: Sequence[tuple[Event, list[float]]]) -> list[list[tuple[Event, list[float]]]]:
    """Lists of one log and length, in order: the first of each step is one layer's, the second another's. Where steps
    hold unlike numbers of lists, which layer is which cannot be told, and nothing is put together."""
    steps: dict[tuple[str, str, int], dict[int | None, list[tuple[Event, list[float]]]]] = defaultdict(dict)
    for event, loads in sorted(lists, key=lambda pair: pair[0].order):
        known = steps[event.run, event.source.path, len(loads)]
        known.setdefault(event.step, []).append((event, loads))
    found = []
    for by_step in steps.values():
        rows = list(by_step.values())
        if len(rows) == 1:
            found.append(rows[0])
        elif len({len(row) for row in rows}) == 1:
            found += [list(layer) for layer in zip(*rows, strict=True)]
    return found


def _worst(series: Sequence[Sequence[tuple[Event, float]]]) -> tuple[float, list[Source]] | None:
    """The greatest of late over early, with the first and the last line."""
    told = [
        (trend([(place, value) for place, (_, value) in enumerate(rows)], range(len(rows))), rows)
        for rows in series
        if len(rows) >= FEWEST_STEPS
    ]
    if not told:
        return None
    found, rows = max(told, key=lambda pair: pair[0])
    return found, [rows[0][0].source, rows[-1][0].source]


def uneven(loads: Sequence[float]) -> float | None:
    """Greatest over mean of the loads; None when there are too few or no tokens at all."""
    if len(loads) < FEWEST or sum(loads) <= 0:
        return None
    return max(loads) / fmean(loads)


def collapsed(chosen: str) -> float | None:
    """Load of an expert over the mean when it was chosen for nearly all tokens listed; None for any other list."""
    ids = [int(part) for part in chosen.split(",") if part.strip().isdigit()]
    if len(ids) < 8:
        return None
    most = max(ids.count(one) for one in set(ids)) / len(ids)
    return most * max(max(ids) + 1, 2) if most >= COLLAPSED else None


def _loads(text: str) -> list[float]:
    """Numbers of a list; a comma with a blank after it separates, one inside a number groups thousands."""
    parts = re.split(r",\s+|\s+|,(?=\d{4,})", text.strip(" []"))
    if len(parts) == 1 and text.count(",") >= FEWEST:
        parts = text.strip(" []").split(",")
    return [float(match[0].replace(",", "")) for part in parts if (match := _NUMBER.match(part.strip()))]


def _by_rank(events: Sequence[Event]) -> list[tuple[float, Source]]:
    """Lines of single ranks, put together by file or by step: each group gives one ratio."""
    groups: dict[tuple[int | None, str], dict[int, tuple[float, Event]]] = defaultdict(dict)
    for index, event in enumerate(events):
        text = str(event.fields.get("tokens", "")).replace(",", "")
        who = event.fields.get("of_rank", event.rank)
        if text.isdigit():
            rank = who if isinstance(who, int) else index
            groups[event.step, event.run][rank] = (float(text), event)
    found = []
    for group in groups.values():
        ratio = uneven([tokens for tokens, _ in group.values()])
        if ratio is not None:
            found.append((ratio, max(group.values(), key=lambda pair: pair[0])[1].source))
    return found


def _fact(name: str, value: Value, sources: Sequence[Source]) -> Fact:
    return Fact(name, value, "job", Source("derived"), None, Quality.DERIVED, tuple(sources))
