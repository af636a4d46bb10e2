"""How soon a watched job's decline is told, and how often a healthy one raises an alarm: `python -m studies.vitals`.

Jobs are played in events by tests/facts/vitals/jobs.py; every number comes from seeds that are fixed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

from doctor.facts.model import Source, Value
from doctor.facts.vitals import tell
from doctor.facts.vitals.growth import Growth
from doctor.facts.vitals.robust import Shift
from doctor.facts.vitals.stream import Stream
from tests.facts.vitals.jobs import Job, known, watched

SEEDS = range(10)
HERE = Source("log", "job.log", 1)
GIB = 1024.0**3


def silence(job: Job, steps: int, **config: Value) -> tuple[float | None, float | None]:
    """Seconds from the last line of a job that hangs to the first word of it, and to that it is no pause any more."""
    last = max(at for at, _ in replace(job).events(steps))
    word = None
    for now, vitals in watched(replace(job), steps, 2.0, 2000.0):
        facts = known(list(vitals.facts(now)), **config)
        if now > last and facts.get(("live.stalled", "job")):
            word = word or now - last
            if not facts["live.may_be_pause", "job"]:
                return word, now - last
    return word, None


def healthy(job: Job, steps: int) -> tuple[int, int, int]:
    """Times at which a healthy job was told to be silent, to make a long pause, and to be slower.

    A checkpoint of 40 s comes every 100 steps, an evaluation of 60 s every 150; 2 % of the steps take 1.5 to 4 times.
    """
    silent = pause = slower = 0
    for now, vitals in watched(job, steps, max(5.0, 3 * job.step)):
        facts = known(list(vitals.facts(now)))
        silent += facts.get(("live.may_be_pause", "job")) is False
        pause += facts.get(("live.may_be_pause", "job")) is True
        slower += ("live.slowdown", "job") in facts
    return silent, pause, slower


def unseen(seed: int) -> Job:
    """A healthy job whose pauses and steps vary far more than those that thresholds were set with; seeds of its own."""
    rng = random.Random(90_000 + seed)
    return Job(
        seed=90_000 + seed,
        step=rng.choice((0.3, 1.0, 4.0, 15.0, 45.0)),
        jitter=rng.choice((0.03, 0.1, 0.2, 0.3)),
        save_every=rng.randrange(40, 400),
        save=60 * rng.lognormvariate(0, 0.8),
        eval_every=rng.randrange(40, 400),
        evaluate=150 * rng.lognormvariate(0, 0.8),
        announced=rng.random() < 0.5,
        announced_eval=rng.random() < 0.5,
        outliers=rng.choice((0.0, 0.02, 0.05)),
    )


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks that print their own seconds: each with a pace of its own (`skew`), `jitter` (standard deviation,
    lognormal), and in a share `outliers` of its steps, and the up to two after them, 1.5 to 10 times that."""

    seed: int
    count: int = 4
    jitter: float = 0.1
    skew: float = 0.05
    outliers: float = 0.0

    def rows(self, steps: int, slow_from: int = 0, slow: float = 1.0) -> Iterator[list[float]]:
        """Seconds of all ranks, step by step; the last rank but one takes `slow` times as long from
        `slow_from` on."""
        rng = random.Random(self.seed)
        pace = [1 + rng.uniform(-self.skew, self.skew) for _ in range(self.count)]
        held, times = [0] * self.count, [1.0] * self.count
        for step in range(1, steps + 1):
            row = []
            for rank in range(self.count):
                if not held[rank] and rng.random() < self.outliers:
                    held[rank], times[rank] = rng.randint(1, 3), rng.uniform(1.5, 10)
                taken = pace[rank] * rng.lognormvariate(0, self.jitter)
                if held[rank]:
                    held[rank] -= 1
                    taken *= times[rank]
                row.append(taken * slow if rank == self.count - 2 and slow_from and step >= slow_from else taken)
            yield row


def unseen_ranks(seed: int, counts: tuple[int, ...] = (3, 4, 8, 16)) -> Ranks:
    """Healthy ranks of kinds that the thresholds were not set with; seeds of their own."""
    rng = random.Random(50_000 + seed)
    return Ranks(
        seed=50_000 + seed,
        count=rng.choice(counts),
        jitter=rng.choice((0.02, 0.1, 0.3, 0.6)),
        skew=rng.choice((0.0, 0.02, 0.05)),
        outliers=rng.choice((0.0, 0.005, 0.02)),
    )


def straggler(ranks: Ranks, measure: str, steps: int, slow_from: int = 0, slow: float = 1.0) -> int | None:
    """The step at which one rank is told to be slower than the others; None if it never is."""
    streams = [Stream("job", f"rank{rank}.log", rank, 0.0) for rank in range(ranks.count)]
    for number, row in enumerate(ranks.rows(steps, slow_from, slow), 1):
        whole = max(row)
        for stream, own in zip(streams, row, strict=True):
            trends = stream.trends
            trends.own.append(0.5 + whole if measure == "data" else own)
            if measure == "data":
                trends.data.append(own)
        if any(True for _ in tell.straggler(streams)):
            return number
    return None


def slowdown(ratio: float, jitter: float, seed: int, before: int = 200, after: int = 400) -> int | None:
    """Steps from the first slow one to the first word of it; None if there is none, -1 for a word before."""
    rng = random.Random(seed)
    series = Shift(1.2)
    for number in range(before + after):
        series.see(rng.lognormvariate(0, jitter) * (ratio if number >= before else 1.0), HERE)
        if series.ratio is not None:
            return number - before + 1 if number >= before else -1
    return None


def leak(per_step: float, noise: float, seed: int) -> int | None:
    """Steps until a leak of `per_step` GiB on 40 GiB is told."""
    rng = random.Random(seed)
    growth = Growth()
    for step in range(1, 4000):
        growth.see(float(step), (40 + per_step * step + rng.gauss(0, noise)) * GIB, HERE)
        if growth.creep() is not None:
            return step
    return None


def slowed(count: int, ratio: float) -> Iterator[str]:
    """How soon one of `count` ranks is told that becomes slow, at several kinds of noise."""
    for jitter, outliers in ((0.05, 0.0), (0.2, 0.0), (0.5, 0.0), (0.05, 0.02)):
        told = [straggler(Ranks(seed, count, jitter, 0.05, outliers), "own", 200, 60, ratio) for seed in range(40)]
        right = [step - 59 for step in told if step is not None and step >= 60]
        early = sum(step is not None and step < 60 for step in told)
        cell = f"{median(right):.0f} steps ({len(right)} of 40)" if right else "never"
        yield cell + (f", {early} before it" if early else "")


def _pausing(seconds: float, announced: bool = False) -> Job:
    return Job(hang_at=180, save_every=50, save=seconds, announced=announced)


def _middle(values: list[float]) -> str:
    return f"{median(values):.0f} s" if values else "never"


def rows() -> Iterator[str]:
    yield "| hang of a job of 2 s steps | time-out | told after | before it strikes | as no mere pause |"
    yield "| --- | --- | --- | --- | --- |"
    forms = (
        ("no pause seen yet", Job(hang_at=150), (20.0, 600.0, 1800.0)),
        ("three checkpoints of 40 s before", Job(hang_at=180, save_every=50), (600.0, 1800.0)),
        ("in the fourth such checkpoint", Job(hang_at=180, save_every=50, hang_in_save=True), (600.0, 1800.0)),
        ("in the first checkpoint", Job(hang_at=180, hang_in_save=True), (20.0, 600.0, 1800.0)),
        ("three pauses of 400 s without a word before", _pausing(400.0), (600.0,)),
        ("in the fourth announced one of 400 s", replace(_pausing(400.0, True), hang_in_save=True), (600.0,)),
    )
    for name, job, timeouts in forms:
        for timeout in timeouts:
            told = [silence(replace(job, seed=seed), 200, timeout=timeout) for seed in SEEDS]
            words, sure = ([value for value in values if value is not None] for values in zip(*told, strict=True))
            before = sum(value < timeout for value in words)
            cells = (f"{timeout:.0f} s", _middle(words), f"{before} of {len(told)}", _middle(sure))
            yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield "| healthy jobs of 1000 steps | hours | told silent | a long pause | slower |"
    yield "| --- | --- | --- | --- | --- |"
    for step in (0.5, 2.0, 10.0, 60.0):
        for announced in (True, False):
            jobs = [
                Job(seed, step, jitter, save_every=100, eval_every=150, announced=announced, outliers=0.02)
                for seed in range(5)
                for jitter in (0.02, 0.1, 0.2)
            ]
            found = [healthy(job, 1000) for job in jobs]
            word = "announced" if announced else "without a word"
            hours = len(jobs) * 1000 * step / 3600
            silent, pause, slower = (sum(counts) for counts in zip(*found, strict=True))
            yield f"| {step:g} s steps, pauses {word} | {hours:.0f} | {silent} | {pause} | {slower} |"
    yield ""
    yield "| healthy jobs of 1000 steps, of other kinds | jobs | hours | told silent | a long pause alone | slower |"
    yield "| --- | --- | --- | --- | --- | --- |"
    jobs = [unseen(seed) for seed in range(200)]
    for word, chosen in (
        ("all pauses announced", [job for job in jobs if job.announced and job.announced_eval]),
        ("some", [job for job in jobs if job.announced is not job.announced_eval]),
        ("none", [job for job in jobs if not job.announced and not job.announced_eval]),
    ):
        alarms = [healthy(job, 1000) for job in chosen]
        silent, slower = (sum(alarm[place] > 0 for alarm in alarms) for place in (0, 2))
        alone = sum(alarm[1] > 0 and not alarm[0] for alarm in alarms)
        hours = sum(1000 * job.step for job in chosen) / 3600
        yield f"| {word} | {len(chosen)} | {hours:.0f} | {silent} jobs | {alone} jobs | {slower} jobs |"
    yield ""
    yield "| healthy jobs of 500 steps whose ranks print | jobs | told one rank slower |"
    yield "| --- | --- | --- |"
    for measure, name in (("own", "the time of their own part"), ("data", "their wait for data")):
        for counts, of in (((3, 4, 8, 16), ""), ((2,), ", of two ranks")):
            wrong = [straggler(unseen_ranks(seed, counts), measure, 500) is not None for seed in range(100)]
            yield f"| {name}{of} | {len(wrong)} | {sum(wrong)} |"
    for count, slow in ((4, "rank 2 of 4"), (2, "rank 0 of 2")):
        yield ""
        yield f"| from step 60 on, {slow} takes | jitter 5 % | 20 % | 50 % | 5 %, 2 % outliers |"
        yield "| --- | --- | --- | --- | --- |"
        for ratio in (1.2, 1.5, 2.0, 3.0, 8.0):
            yield f"| {ratio:g} times as long | " + " | ".join(slowed(count, ratio)) + " |"
    yield ""
    yield "| steps become slower by | jitter 2 % | 5 % | 10 % | 20 % |"
    yield "| --- | --- | --- | --- | --- |"
    for ratio in (1.0, 1.1, 1.25, 1.5, 2.0):
        cells = []
        for jitter in (0.02, 0.05, 0.1, 0.2):
            told = [slowdown(ratio, jitter, seed, after=2000 if ratio < 1.2 else 400) for seed in range(40)]
            right = [value for value in told if value is not None and value > 0]
            early = sum(value == -1 for value in told)
            cell = f"{median(right):.0f} steps ({len(right)} of 40)" if right else "never"
            cells.append(cell + (f", {early} before it" if early else ""))
        yield f"| {ratio:g} times | " + " | ".join(cells) + " |"
    yield ""
    yield "| GPU memory of 40 GiB grows in a step by | noise 0 | 0.1 GiB | 1 GiB |"
    yield "| --- | --- | --- | --- |"
    for per_step in (0.0, 0.001, 0.01, 0.1):
        cells = []
        for noise in (0.0, 0.1, 1.0):
            told = [leak(per_step, noise, seed) for seed in SEEDS]
            right = [value for value in told if value is not None]
            cells.append(f"{median(right):.0f} steps ({len(right)} of 10)" if right else "never")
        yield f"| {per_step:g} GiB | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for row in rows():
        print(row)
