"""Gradients that stay NaN to the end of a log."""

from __future__ import annotations

from doctor.facts.derive.nan_gradients import derive
from doctor.facts.model import Event, Source
from doctor.facts.store import FactStore


def run(norms: str) -> object:
    """One step a letter: `.` has a finite norm, `n` has none."""
    events = []
    for at, norm in enumerate(norms):
        names = ["progress.step", *(["numerics.nan_gradient"] if norm == "n" else [])]
        events += [Event(name, Source("log", "job.log", at, "x"), {}, order=at) for name in names]
    return next((fact.value for fact in derive(FactStore([], events))), None)


def test_steps_in_a_row_at_the_end_are_counted() -> None:
    assert run("..nnnn") == 4
    assert run("nnn") == 3


def test_the_search_for_a_loss_scale_passes() -> None:
    assert run("nnn.....") == 0
    assert run("........") is None
