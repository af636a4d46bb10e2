"""Values that are no numbers: how they came, and whether they stay to the end of a log."""

from __future__ import annotations

import pytest

from doctor.facts.derive.nan_gradients import derive
from doctor.facts.model import Event, Source
from doctor.facts.store import FactStore

NAN = float("nan")


def run(norms: str) -> object:
    """One step a letter: `.` has a finite norm, `n` has none."""
    events = []
    for at, norm in enumerate(norms):
        names = ["progress.step", *(["numerics.nan_gradient"] if norm == "n" else [])]
        events += [Event(name, Source("log", "job.log", at, "x"), {}, order=at) for name in names]
    return _fact(events, "run.nan_gradients_at_end")


def _fact(events: list[Event], name: str) -> object:
    return next((fact.value for fact in derive(FactStore([], events)) if fact.name == name), None)


def test_steps_in_a_row_at_the_end_are_counted() -> None:
    assert run("..nnnn") == 4
    assert run("nnn") == 3


def test_the_search_for_a_loss_scale_passes() -> None:
    assert run("nnn.....") == 0
    assert run("........") is None


def onset(*steps: tuple[float, float | None], first: int = 100, every: int = 1) -> object:
    """Steps as loss and norm of the gradients, which not every program prints, numbered from `first` on."""
    events = []
    for at, (loss, norm) in enumerate(steps):
        source = Source("log", "job.log", at, "x")
        fields = {"step": first + at * every, "loss": loss} | ({} if norm is None else {"grad_norm": norm})
        events.append(Event("progress.step", source, fields, order=2 * at))
        if norm != norm or loss != loss:
            events.append(Event("numerics.nan_gradient", source, {}, order=2 * at + 1))
    return _fact(events, "run.nan_onset")


@pytest.mark.parametrize("before", [(2.6, 7.0), (2.5, 90.0)])
def test_usual_values_before_the_first_nan_are_a_sudden_one(before: tuple[float, float]) -> None:
    assert onset(before, before, before, (2.5, NAN), (NAN, NAN)) == "sudden"


def test_the_loss_of_the_step_whose_gradients_are_nan_counts_as_before() -> None:
    assert onset((2.6, 7.0), (2.4, NAN)) == "sudden"
    assert onset((2.6, 7.0), (9.4, NAN)) == "after_rise"


def test_a_loss_or_gradients_that_rise_come_first_where_a_training_diverges() -> None:
    assert onset((2.6, 7.0), (3.0, 8.0), (4.1, 9.0), (NAN, NAN)) == "after_rise"
    assert onset((2.6, 7.0), (2.6, 8.0), (2.7, 90.0), (2.7, NAN)) == "after_rise"


def test_norms_of_a_few_times_the_usual_are_a_rise_while_the_loss_still_falls() -> None:
    assert onset((10.4, 12.0), (9.1, 8.0), (7.9, 15.0), (7.5, 60.0), (NAN, NAN)) == "after_rise"
    assert onset((10.4, 12.0), (9.1, 8.0), (7.9, 15.0), (7.5, 20.0), (NAN, NAN)) == "sudden"


def test_a_few_losses_alone_do_not_tell_that_a_training_went_well() -> None:
    falling = [(10.4 - step / 10, None) for step in range(30)]
    assert onset(*falling[:4], (NAN, None)) is None
    assert onset(*falling, (NAN, None)) == "sudden"


def test_between_lines_far_apart_a_training_may_diverge_unseen() -> None:
    usual = [(2.9, 1.1), (2.8, 1.0), (2.7, 1.2)]
    assert onset(*usual, (NAN, NAN), every=100) is None
    assert onset(*usual, (NAN, NAN), every=10) == "sudden"
    assert onset(*usual * 7, (NAN, NAN), every=100) == "sudden"


def test_the_first_steps_of_a_run_have_nothing_before_them() -> None:
    assert onset((NAN, NAN), (NAN, NAN), first=1) == "start"
    assert onset((NAN, NAN), (NAN, NAN)) is None
    assert onset((2.6, 7.0), (2.5, 6.0)) is None


@pytest.mark.parametrize(("log", "kind"), [(("training_started",), "start"), (("resumed", "training_started"), None)])
def test_a_first_line_without_a_number_is_the_start_where_a_fresh_run_was_seen_to_begin(
    log: tuple[str, ...], kind: str | None
) -> None:
    line = Source("log", "job.log", 9, "x")
    began = [Event(f"progress.{name}", Source("log", "job.log", at, "x"), {}, order=at) for at, name in enumerate(log)]
    step = [Event("progress.step", line, {"loss": 2.3}, order=8), Event("numerics.nan_gradient", line, {}, order=9)]
    assert _fact([*began, *step], "run.nan_onset") == kind
