"""Published measurements, as YAML records, read as jobs with what was measured.

A file is a list of records: id, kind, source, model, hardware, parallel, train, measured. A value that the publisher
left out stands as `unstated`; what the planner needs and cannot take from the record makes the record unmodelled, with
the reason; what it may safely assume is listed in `assumed`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from doctor.planner.errors import PlanError, reason
from doctor.planner.job import Job
from doctor.planner.record_fields import Fields
from doctor.planner.record_job import job_of
from doctor.rulebase.model import Text

MOST_BYTES = 16 << 20
MOST_RECORDS = 20_000
MOST_VALUES = 2_000  # of the configuration of one record; a real one has some 70
DEEPEST = 8
HELD_OUT = 4  # one configuration in this many is kept away from any fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One measurement. `file`: name of its file without ending; `job` is None where the record cannot be modelled, and
    `reason` says why; `assumed`: what the record left open; `held_out`: its configuration is in the frozen hold-out."""

    id: str
    file: str
    kind: str
    job: Job | None
    reason: Text | None
    assumed: tuple[str, ...]
    measured: Mapping[str, Any]
    raw: Mapping[str, Any]
    held_out: bool

    @property
    def is_measured(self) -> bool:
        """Was it measured? Values of a paper's formula are not."""
        return self.kind == "measured"

    @property
    def gpus_known(self) -> bool:
        """False where the number of GPUs is the collector's guess: then memory says nothing."""
        return self.raw.get("gpu_count_known") is not False

    def number(self, name: str) -> float | None:
        """A measured value; None where it is missing or not a number."""
        value = self.measured.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def read_folder(folder: Path) -> tuple[tuple[Record, ...], tuple[Text, ...]]:
    """All records of the .yaml files of a folder, and one line for each file that could not be read."""
    records: list[Record] = []
    problems: list[Text] = []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml") and path.is_file())
    except OSError as error:
        return (), (reason("reason.of", name=folder, why=error.strerror or error),)
    if not paths:
        problems.append(reason("reason.of", name=folder, why=reason("record.no_file")))
    for path in paths:
        try:
            records.extend(read_file(path))
        except PlanError as error:
            problems.append(error.text)
    return tuple(records), tuple(problems)


def read_file(path: Path) -> tuple[Record, ...]:
    """The records of one file. Raises PlanError where the file is no list of records."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlanError(reason("reason.of", name=path, why=error.strerror or error)) from None
    if len(text) > MOST_BYTES:
        raise PlanError(reason("reason.of", name=path, why=reason("record.large", mib=MOST_BYTES >> 20)))
    try:
        rows = YAML(typ="safe").load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark else ""
        why = reason("record.yaml", why=getattr(error, "problem", None) or reason("record.unreadable"))
        raise PlanError(reason("reason.of", name=f"{path}{place}", why=why)) from None
    except (ValueError, RecursionError) as error:
        raise PlanError(reason("reason.of", name=path, why=reason("record.yaml", why=error))) from None
    if not isinstance(rows, list):
        raise PlanError(reason("reason.of", name=path, why=reason("record.no_list", kind=_kind(rows))))
    if len(rows) > MOST_RECORDS:
        why = reason("record.many", n=len(rows), most=MOST_RECORDS)
        raise PlanError(reason("reason.of", name=path, why=why))
    return tuple(read_record(row, path.stem, number) for number, row in enumerate(rows, 1))


def read_record(row: Any, file: str = "", number: int = 1) -> Record:
    """One record; never raises: what is wrong with it is its `reason`."""
    raw: Mapping[str, Any] = row if isinstance(row, dict) else {}
    measured = raw.get("measured")
    job: Job | None = None
    assumed: tuple[str, ...] = ()
    why: Text | None = None
    held_out = False
    try:
        if not isinstance(row, dict):
            raise PlanError(reason("record.mapping", kind=_kind(row)))
        held_out = _held_out(raw)
        fields = Fields(raw)
        job = job_of(fields)
        assumed = tuple(fields.assumed)
    except PlanError as error:
        why = error.text
    return Record(
        id=str(raw.get("id", f"{file}[{number}]"))[:200],
        file=file,
        kind=str(raw.get("kind", ""))[:80],
        job=job,
        reason=why,
        assumed=assumed,
        measured=measured if isinstance(measured, dict) else {},
        raw=raw,
        held_out=held_out,
    )


def _held_out(raw: Mapping[str, Any]) -> bool:
    """Whether the configuration falls into the hold-out: decided by a hash of model, hardware, parallel and train, so
    that repeats of one configuration stay together and nothing measured has a say."""
    digest, left = hashlib.sha256(), MOST_VALUES
    for section in ("model", "hardware", "parallel", "train"):
        for part in _parts(raw.get(section), 0):
            left -= 1
            if left < 0:
                raise PlanError(reason("record.values", section=section, most=MOST_VALUES))
            digest.update(part.encode("utf-8", "replace"))
            digest.update(b"\0")
    return digest.digest()[0] % HELD_OUT == 0


def _parts(value: Any, depth: int) -> Iterator[str]:
    """The values of a section in a fixed order, lazily: an alias in YAML can make few bytes endless."""
    if depth > DEEPEST:
        raise PlanError(reason("record.nested", most=DEEPEST))
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield str(key)
            yield from _parts(value[key], depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield "-"
            yield from _parts(item, depth + 1)
    else:
        yield repr(value)[:200]


def _kind(value: Any) -> Text:
    names = {dict: "mapping", list: "list", str: "text", type(None): "nothing", bool: "switch"}
    return reason(f"record.kind.{names.get(type(value), 'number')}")
