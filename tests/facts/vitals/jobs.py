"""Jobs played in events: steps with jitter, pauses, restarts, and the faults that vitals are to notice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.facts.derive.live import derive
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore
from doctor.facts.vitals import Vitals


def event(name: str, line: int, path: str = "rank0.log", rank: int | None = None, **fields: Value) -> Event:
    return Event(name, Source("log", path, line, f"{name} {fields}"), fields, rank=rank, order=line)


@dataclass(slots=True)
class Job:
    """A training job of `step` seconds a step on `ranks` ranks, of which `logging` print their steps.

    Steps vary by `jitter` (standard deviation, lognormal); every `save_every` steps a checkpoint stops it for
    `save` seconds, every `eval_every` an evaluation; `announced` tells whether it says so, `announced_eval` the same of evaluations where it differs. `slow_from` is a step from
    which all takes `slow` times as long; `hang_at` the step after which nothing comes, but the
    begin of a checkpoint if `hang_in_save`.
    """

    seed: int = 0
    step: float = 2.0
    jitter: float = 0.03
    ranks: int = 1
    save_every: int = 0
    save: float = 40.0
    eval_every: int = 0
    evaluate: float = 60.0
    announced: bool = True
    announced_eval: bool | None = None
    slow_from: int = 0
    slow: float = 1.0
    hang_at: int = 0
    hang_in_save: bool = False
    outliers: float = 0.0
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def seconds(self, number: int) -> float:
        taken = self.step * self.rng.lognormvariate(0, self.jitter)
        if self.slow_from and number >= self.slow_from:
            taken *= self.slow
        if self.rng.random() < self.outliers:
            taken *= self.rng.uniform(1.5, 4)
        return taken

    def events(self, steps: int) -> Iterator[tuple[float, Event]]:
        """Times since the begin, and what was written then."""
        now = 20.0
        line = 0
        for number in range(1, steps + 1):
            taken = self.seconds(number)
            now += taken + (30 if number == 1 else 0)
            for rank in range(self.ranks):
                line += 1
                path, where = f"rank{rank}.log", rank if self.ranks > 1 else None
                yield now, event("progress.step", line, path, where, step=number, step_time_s=taken)
            if self.hang_at and number >= self.hang_at:
                if self.hang_in_save:
                    yield now, event("progress.save_started", line)
                return
            evaluates = self.announced if self.announced_eval is None else self.announced_eval
            for every, pause, told, kind in (
                (self.save_every, self.save, self.announced, "save"),
                (self.eval_every, self.evaluate, evaluates, "eval"),
            ):
                if every and number % every == 0:
                    if told:
                        yield now, event(f"progress.{kind}_started", line)
                    now += pause * self.rng.lognormvariate(0, 0.2)
                    if told:
                        yield now, event(f"progress.{kind}_done", line)


def known(facts: list[Fact], **config: Value) -> dict[tuple[str, str], Value]:
    """Facts by name and entity, with what is derived from them."""
    store = FactStore([*facts, *(Fact(f"config.{name}", value) for name, value in config.items())])
    return {(fact.name, fact.entity): fact.value for fact in [*facts, *derive(store)]}


def watched(job: Job, steps: int, every: float = 5.0, after: float = 0.0) -> Iterator[tuple[float, Vitals]]:
    """The job as it is watched: vitals at every `every` seconds, and for `after` seconds beyond its last line."""
    vitals, now = Vitals(), 0.0
    for at, one in job.events(steps):
        while now + every < at:
            now += every
            yield now, vitals
        vitals.see([one], at)
        last = at
    while now < last + after:
        now += every
        yield now, vitals
