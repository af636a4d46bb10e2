"""Cross-validation of the step-time model, and the fit of its constants: `python -m studies.step_time FOLDER`."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

from doctor.planner.accuracy import Row, quantile
from doctor.planner.calibrate import TRUST_UNSEEN, calibrate
from doctor.planner.constants import BOUNDS, Constants
from doctor.planner.measured import measured_step
from doctor.planner.records import read_folder
from doctor.planner.step_time import StepTime, step_time
from studies.fitting import Sample, constant_utilisation, fit, sample_of

FOLDS = 4


def samples(folder: Path) -> tuple[Sample, ...]:
    """All records with a step time."""
    found = []
    for record in read_folder(folder)[0]:
        seconds, _ = measured_step(record) if record.is_measured else (None, None)
        if seconds is not None and (sample := sample_of(record, seconds)):
            found.append(sample)
    return tuple(found)


def visible(every: Sequence[Sample]) -> tuple[Sample, ...]:
    """Those outside the frozen hold-out."""
    return tuple(one for one in every if not one.record.held_out)


def left_out(
    every: Sequence[Sample], fold_of: Callable[[Sample], str | int]
) -> Iterator[tuple[tuple[Sample, ...], tuple[Sample, ...], Constants]]:
    """The rest, each fold, and the constants fitted without the fold."""
    folds = sorted({fold_of(one) for one in every}, key=str)
    rests = [tuple(one for one in every if fold_of(one) != fold) for fold in folds]
    with ProcessPoolExecutor() as pool:
        for fold, rest, constants in zip(folds, rests, pool.map(fit, rests), strict=True):
            yield rest, tuple(one for one in every if fold_of(one) == fold), constants


def by_group(every: Sequence[Sample]) -> Callable[[Sample], int]:
    """Fold of a sample: groups in the order of a checksum of their names, dealt out in turn."""
    groups = sorted({one.group for one in every}, key=lambda group: zlib.crc32(group.encode()))
    folds = {group: number % FOLDS for number, group in enumerate(groups)}
    return lambda one: folds[one.group]


def cross_validated(every: Sequence[Sample]) -> tuple[list[Row], list[Row]]:
    """Rows of the model and of constant utilisation, each predicted without its own group."""
    model, constant = [], []
    for rest, fold, constants in left_out(every, by_group(every)):
        for one in fold:
            found = step_time(one.job, constants)
            model.append(row(one, found))
            constant.append(replace(model[-1], predicted=constant_utilisation(rest, one.job), low=None, high=None))
    return model, constant


def row(one: Sample, found: StepTime) -> Row:
    """A sample beside its prediction."""
    return Row(
        id=one.record.id, file=one.record.file, kind=found.kind.value, held_out=one.record.held_out,
        predicted=found.likely, measured=one.seconds, low=found.low, high=found.high,
    )  # fmt: skip


def unseen(every: Sequence[Sample]) -> list[tuple[Sample, Constants]]:
    """All samples, each with constants fitted without any row of its GPU."""
    folds = left_out(every, lambda one: one.job.cluster.gpu.name)
    return [(one, constants) for _, fold, constants in folds for one in fold]


def calibrated(every: Sequence[tuple[Sample, Constants]], trust: float) -> tuple[list[Row], list[Row]]:
    """Rows whose group has another one, before and after calibration on the first of the group with another job."""
    before, after = [], []
    first: dict[str, Sample] = {}
    for one, constants in every:
        base = first.setdefault(one.group, one)
        if base.job == one.job:
            continue
        found = step_time(one.job, constants)
        before.append(row(one, found))
        calibration = replace(calibrate(base.job, base.seconds, constants), trust=trust)
        after.append(row(one, calibration.apply(one.job, found)))
    return before, after


def bounds(rows: Sequence[Row], share: float = 0.04) -> tuple[float, float]:
    """Measured over predicted time: what leaves `share` of the rows out on either side."""
    ratios = [one.measured / one.predicted for one in rows]
    return quantile(ratios, share), quantile(ratios, 1 - share)


def main() -> None:
    """Prints the constants fitted on all rows outside the hold-out, and ranges from cross-validation."""
    every = visible(samples(Path(sys.argv[1])))
    constants = fit(every)
    for field in fields(constants):
        low, high = BOUNDS[field.name]
        value = getattr(constants, field.name)
        print(f"    {field.name}: float = {value:.3g}" + ("  # at its bound" if value in (low, high) else ""))
    model, _ = cross_validated(every)
    alone = unseen(every)
    _, after = calibrated(alone, TRUST_UNSEEN)
    for title, rows in (("range", model), ("calibrated", after)):
        for kind in sorted({one.kind for one in rows}):
            part = [one for one in rows if one.kind == kind]
            print(title, kind, len(part), "{:.3f} {:.3f}".format(*bounds(part)))
    rows = [row(one, step_time(one.job, constants)) for one, constants in alone]
    for name in ("dense", "fp8", "moe", "host"):
        part = [one for one in rows if one.kind == name]
        if part:
            print("unseen", name, len(part), "{:.3f} {:.3f}".format(*bounds(part)))


if __name__ == "__main__":
    main()
