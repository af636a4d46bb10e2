"""Logs of healthy jobs of all frameworks, read as they grow, line by line by their own clock: nothing to tell."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from doctor.facts.model import Value
from doctor.facts.vitals import Vitals
from doctor.rulebase.load import load_rulebase
from probes.files.log.elsewhere import matchers
from probes.files.log.growing import Growing
from probes.files.log.matcher import SMALL_ENGINES
from probes.files.log.patterns import Patterns
from tests.facts.vitals.jobs import known
from tests.robustness.healthy import FORMS, Form

PATTERNS = Patterns(tuple(load_rulebase().base.events.values()))
MATCHER = matchers(PATTERNS.texts, frozenset(), None, SMALL_ENGINES)[0]
SIGNS = (
    *("live.slowdown", "live.rank_silence", "live.memory_creep", "live.gradient_spikes", "live.loss_scale_fall"),
    *("live.expert_drift", "live.slow_rank"),
)


def written(form: Form, seed: int, steps: int, every: int) -> Iterator[tuple[float, str]]:
    """Lines of a job with the seconds at which they are written: steps with jitter, slow ones among them, and every
    `every` steps a pause without a word, of an evaluation or a checkpoint."""
    rng = random.Random(seed)
    seconds, now = rng.uniform(0.8, 6), 1.7e9
    for index in range(steps + 1):
        step = max(index, 1)
        taken = seconds * rng.lognormvariate(0, 0.05) * (rng.uniform(1.5, 3) if rng.random() < 0.02 else 1)
        now += taken if index > 1 else 40
        places: dict[str, object] = {"step": step, "total": steps, "samples": step * 256, "loss": 2.2 + 3 / (step + 1)}
        places |= {"s": taken, "ms": taken * 1000, "rate": 1 / taken, "percent": 100 * step // steps, "at": _clock(now)}
        for line in form.start if index == 0 else (form.step,):
            yield now, line.format(**places)
        if every and index and index % every == 0:
            now += rng.uniform(20, 40)
    for line in form.end:
        yield now, line.format(**places)


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def replayed(lines: Iterator[tuple[float, str]], after: float = 0.0) -> Iterator[dict[tuple[str, str], Value]]:
    """What is known some seconds apart while the lines come, and for `after` seconds beyond them."""
    log, vitals, told = Growing("job.log", PATTERNS, MATCHER), Vitals(), 0.0
    now = 0.0
    for now, line in lines:
        told = told or now
        while told + 15 < now:
            told += 15
            yield known(list(vitals.facts(told)))
        vitals.see(log.feed(line.encode() + b"\n", now), now)
    while told < now + after:
        told += 15
        yield known(list(vitals.facts(told)))


@pytest.mark.parametrize("every", [0, 60])
@pytest.mark.parametrize("name", FORMS)
def test_a_healthy_job_is_left_alone_until_after_its_end(name: str, every: int) -> None:
    seen: set[str] = set()
    for facts in replayed(written(FORMS[name], len(name), 250, every), after=120):
        seen |= {fact for fact, _ in facts}
        assert not any(value is True for (fact, _), value in facts.items() if fact == "live.stalled")
        assert not seen & set(SIGNS)
    assert "live.silence" in seen


OVERFLOWS = (
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
)


def test_overflows_that_another_program_tells_beside_a_scale_of_one_are_no_fall() -> None:
    def mixed() -> Iterator[tuple[float, str]]:
        for index, (at, line) in enumerate(written(FORMS["Megatron-LM"], 3, 250, 0)):
            yield at, line
            if index % 4 == 0:
                yield at, OVERFLOWS[index // 4 % 2]

    assert not any("live.loss_scale_fall" in {name for name, _ in facts} for facts in replayed(mixed()))


@pytest.mark.parametrize("name", FORMS)
def test_the_same_job_that_hangs_is_told_before_the_timeout(name: str) -> None:
    lines = list(written(FORMS[name], len(name), 200, 60))
    cut = next(index for index, (at, _) in enumerate(lines) if at > lines[-1][0] * 0.5 + lines[0][0] * 0.5)
    stalled = [facts for facts in replayed(iter(lines[:cut]), after=620) if facts.get(("live.stalled", "job"))]
    assert stalled
    left = stalled[0]["live.strikes_in", "job"]
    assert isinstance(left, float) and left > 60


@pytest.mark.parametrize(
    "form",
    ["Epoch 1 | Step {step}/400 | Loss: 1.28", "epoch 0 batch {step} of 400 loss 0.41", "step {step}, loss: 1.2"],
)
def test_steps_that_tell_no_time_have_a_heartbeat(form: str) -> None:
    lines = [(1.7e9 + 2.0 * step, form.format(step=step)) for step in range(1, 120)]
    stalled = [facts for facts in replayed(iter(lines), after=620) if facts.get(("live.stalled", "job"))]
    assert stalled
    left = stalled[0]["live.strikes_in", "job"]
    assert isinstance(left, float) and left > 60
