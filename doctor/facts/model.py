"""The core types: what was seen, where, and how well it is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from doctor.facts.said import Said

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | tuple[Scalar, ...]

NO_FIELDS: Mapping[str, Value] = MappingProxyType({})


class Scope(StrEnum):
    """The kind of entity a fact is about. An entity is written `kind:name`; the job is just `job`."""

    JOB = "job"
    RUN = "run"
    NODE = "node"
    GPU = "gpu"
    NIC = "nic"
    RANK = "rank"


class Quality(StrEnum):
    """How a fact came to be known."""

    MEASURED = "measured"
    STATED = "stated"
    DERIVED = "derived"
    ANSWERED = "answered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Source:
    """Where something was read.

    `kind` is log, config, dump, table, flight_recorder, probe, answer or derived; `line` counts from 1, 0 means the
    whole of `path`; `text` is the line as it stands there, without terminal control sequences. Where the reader puts
    into words what no line says, `said` is the same as data, and `text` its English.
    """

    kind: str
    path: str = ""
    line: int = 0
    text: str = ""
    said: Said | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One typed statement about one entity. `value` is in the catalogue's unit; `time` is seconds since the epoch."""

    name: str
    value: Value
    entity: str = "job"
    source: Source = Source("derived")
    time: float | None = None
    quality: Quality = Quality.STATED
    because: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One occurrence of a catalogued message in a log.

    `fields` are the pattern's captures, typed; `order` is the position within its file; `run` names the run the file
    belongs to; `step` and `phase` are the last ones seen in that file before this line; `context` holds further
    lines that belong to the occurrence, such as the frames of a traceback.
    """

    name: str
    source: Source
    fields: Mapping[str, Value] = field(default_factory=lambda: NO_FIELDS)
    rank: int | None = None
    host: str | None = None
    local_rank: int | None = None
    time: float | None = None
    step: int | None = None
    phase: str = "start"
    run: str = "job"
    order: int = 0
    context: tuple[Source, ...] = ()


class Symptom(StrEnum):
    """What a message alone says about the job: nothing, that something is amiss, or that a rank failed."""

    NONE = "none"
    DEGRADED = "degraded"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class EventSpec:
    """A message that can be read in a log: patterns by version with named captures, and their types.

    `fields` maps a capture to int, float, str, bytes (a size such as "2.5 GiB" becomes a number of bytes) or
    seconds. `symptom` says whether the line alone shows a failure. `follows` marks a line that is printed because
    something else failed first. `phase` names the phase of the job that the line begins. `raised` marks the message of
    an exception, which a program may catch: it counts only if the job did not go on.
    """

    name: str
    patterns: tuple[str, ...]
    fields: Mapping[str, str] = field(default_factory=dict)
    symptom: Symptom = Symptom.NONE
    follows: bool = False
    phase: str = ""
    raised: bool = False
    meaning: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FactSpec:
    """One line of the catalogue: what a fact name means, and who can supply it. `words` are how its values are said, by
    value and language; one that is not among them is said as it stands."""

    name: str
    type: str
    unit: str
    scope: Scope
    meaning: str
    providers: tuple[str, ...] = ()
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def fact_spec(catalogue: Mapping[str, FactSpec], name: str) -> FactSpec | None:
    """The line of the catalogue for a fact, which may be one of an open family such as `env.*`."""
    return catalogue.get(name) or catalogue.get(name.partition(".")[0] + ".*")
