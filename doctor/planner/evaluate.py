"""Predictions of memory and step time against a folder of published measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from doctor.planner.accuracy import Errors, Row, errors
from doctor.planner.errors import PlanError, reason
from doctor.planner.job import Job
from doctor.planner.measured import measured_step
from doctor.planner.memory.breakdown import StageMemory, memory
from doctor.planner.prediction import Kind
from doctor.planner.records import Record, read_folder
from doctor.planner.step_time import step_time
from doctor.rulebase.model import Text

GIB = float(1 << 30)
LARGE = 8 * GIB  # the planner is for jobs that fill a GPU; on smaller ones constants of the framework decide
STEP, ALLOCATED, RESERVED, BY_RANK = "step time", "allocated", "reserved", "allocated by rank"
QUANTITIES = (STEP, ALLOCATED, RESERVED, BY_RANK)
NOT_MEASURED = reason("record.not_measured")
MOST_OFF = 1e4  # predicted over measured; farther off is another unit or rubbish


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One quantity over some rows: all, those by group (kind of job, or size), and the hold-out alone."""

    quantity: str
    every: Errors
    groups: Mapping[str, Errors]
    held_out: Errors | None
    reasons: Mapping[Text, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """One file: its records, how many of them are jobs, why the others are not, and its comparisons."""

    file: str
    records: int
    modelled: int
    reasons: Mapping[Text, int]
    compared: tuple[Compared, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A folder of measurements: file by file and over all. problems: files that could not be read."""

    files: tuple[FileReport, ...]
    overall: tuple[Compared, ...]
    problems: tuple[Text, ...]

    @property
    def records(self) -> int:
        return sum(report.records for report in self.files)

    @property
    def modelled(self) -> int:
        return sum(report.modelled for report in self.files)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Rows of one quantity, and why other records have none."""

    rows: list[Row]
    reasons: Counter[Text]


def evaluate(folder: Path) -> Evaluation:
    """Every record of the folder's .yaml files against the planner. Never raises for what the files hold."""
    records, problems = read_folder(folder)
    by_file: dict[str, list[Record]] = {}
    for record in records:
        by_file.setdefault(record.file, []).append(record)
    found = {file: _measure(members) for file, members in by_file.items()}
    reports = tuple(_file(file, members, found[file]) for file, members in by_file.items())
    overall = tuple(
        compared for quantity in QUANTITIES if (compared := _over(quantity, [one[quantity] for one in found.values()]))
    )
    return Evaluation(files=reports, overall=overall, problems=problems)


def _measure(records: list[Record]) -> dict[str, _Measured]:
    found = {quantity: _Measured([], Counter()) for quantity in QUANTITIES}
    for record in records:
        if not record.is_measured:
            continue
        try:
            for quantity, row in _rows(record):
                if isinstance(row, Text):
                    found[quantity].reasons[row] += 1
                elif not (row.measured > 0 and 1 / MOST_OFF < row.predicted / row.measured < MOST_OFF):
                    found[quantity].reasons[reason("record.other_job")] += 1
                else:
                    found[quantity].rows.append(row)
        except PlanError as error:
            found[STEP].reasons[error.text] += 1
        except (ArithmeticError, ValueError, TypeError) as error:  # a record whose values no job could have
            found[STEP].reasons[reason("record.not_computed", why=error)] += 1
    return found


def _rows(record: Record) -> Iterator[tuple[str, Row | Text]]:
    if record.job is None:
        return
    yield STEP, step_row(record)
    yield from _memory_rows(record, record.job)


def step_row(record: Record) -> Row | Text:
    """The record's step time beside the predicted one, in seconds, or why it has none."""
    seconds, why = measured_step(record)
    if seconds is None or record.job is None:
        return why or NOT_MEASURED
    predicted = step_time(record.job)
    return _row(record, predicted.kind, predicted.likely, seconds, predicted.low, predicted.high)


def _memory_rows(record: Record, job: Job) -> Iterator[tuple[str, Row | Text]]:
    names = [name for name in record.measured if str(name).startswith("mem_gib")]
    if not names:
        return
    if not record.gpus_known:
        yield ALLOCATED, reason("record.gpus")
        return
    peaks = memory(job)
    if measured := record.number("mem_gib_allocated_peak_last_rank"):
        yield ALLOCATED, _row(record, _size(measured), peaks[-1].allocated, measured * GIB)
    elif measured := record.number("mem_gib_allocated"):
        yield ALLOCATED, _row(record, _size(measured), max(peak.allocated for peak in peaks), measured * GIB)
    for name in ("mem_gib_reserved", "mem_gib_reserved_max"):
        if measured := record.number(name):
            yield RESERVED, _row(record, job.stack.value, max(peak.reserved for peak in peaks), measured * GIB)
    yield from _by_rank(record, job, peaks)


def _by_rank(record: Record, job: Job, peaks: tuple[StageMemory, ...]) -> Iterator[tuple[str, Row]]:
    """Stage by stage, where every rank was measured: ranks of a stage are consecutive (Megatron-LM's order)."""
    listed = record.measured.get("mem_gib_allocated_by_rank")
    if not isinstance(listed, list) or len(listed) != job.layout.world:
        return
    if not all(isinstance(value, int | float) and value > 0 for value in listed):
        return
    width = len(listed) // job.layout.pp
    for stage, peak in enumerate(peaks):
        most = max(listed[stage * width : (stage + 1) * width])
        yield BY_RANK, _row(record, _size(most), peak.allocated, most * GIB, name=f"{record.id} stage {stage}")


def _size(gib: float) -> str:
    return "8 GiB and more" if gib * GIB >= LARGE else "below 8 GiB"


def _row(
    record: Record, kind: Kind | str, predicted: float, measured: float,
    low: float | None = None, high: float | None = None, name: str = "",
) -> Row:  # fmt: skip
    return Row(
        id=name or record.id, file=record.file, kind=str(kind), held_out=record.held_out,
        predicted=predicted, measured=measured, low=low, high=high,
    )  # fmt: skip


def _file(file: str, records: list[Record], found: Mapping[str, _Measured]) -> FileReport:
    reasons = Counter(record.reason for record in records if record.job is None and record.reason)
    reasons[NOT_MEASURED] += sum(record.job is not None and not record.is_measured for record in records)
    return FileReport(
        file=file,
        records=len(records),
        modelled=sum(record.job is not None and record.is_measured for record in records),
        reasons=dict((+reasons).most_common()),
        compared=tuple(compared for quantity in QUANTITIES if (compared := _over(quantity, [found[quantity]]))),
    )


def _over(quantity: str, parts: list[_Measured]) -> Compared | None:
    rows = [row for part in parts for row in part.rows]
    every = errors(rows)
    if every is None:
        return None
    reasons: Counter[Text] = Counter()
    for part in parts:
        reasons.update(part.reasons)
    kinds = sorted({row.kind for row in rows})
    groups = {kind: errors(row for row in rows if row.kind == kind) for kind in kinds}
    return Compared(
        quantity=quantity,
        every=every,
        groups={kind: found for kind, found in groups.items() if found},
        held_out=errors(row for row in rows if row.held_out),
        reasons=dict(reasons.most_common()),
    )
