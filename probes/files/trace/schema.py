"""The events of a Chrome trace as libkineto writes them, with the fields that are needed and no others."""

from __future__ import annotations

from decimal import Decimal
from functools import cache, reduce
from typing import Any, TypeAlias

import msgspec

Id: TypeAlias = int | str | None


class Args(msgspec.Struct, gc=False):
    """Arguments of work on a device, and of the operator that started a collective (names: output_json.cpp)."""

    device: Id = None
    stream: Id = None
    correlation: int = 0
    collective: str | None = msgspec.field(default=None, name="Collective name")
    sent: int = msgspec.field(default=-1, name="In msg nelems")
    received: int = msgspec.field(default=-1, name="Out msg nelems")
    dtype: str | None = None
    group: Id = msgspec.field(default=None, name="Process Group Name")
    description: str | None = msgspec.field(default=None, name="Process Group Description")
    ranks: str | None = msgspec.field(default=None, name="Process Group Ranks")
    size: int = msgspec.field(default=0, name="Group size")
    sequence: int = msgspec.field(default=-1, name="Seq")


class Complete(msgspec.Struct, tag="X", tag_field="ph", gc=False):
    """An event with a beginning and a duration, in microseconds."""

    name: str = ""
    cat: str = ""
    pid: Id = None
    tid: Id = None
    ts: float = 0.0
    dur: float = 0.0
    args: Args = msgspec.field(default_factory=Args)


class Precise(Complete, tag="X", tag_field="ph", gc=False):
    """The same with times as they are printed: a double resolves a quarter of a microsecond since the epoch."""

    ts: Decimal = Decimal(0)  # type: ignore[assignment]
    dur: Decimal = Decimal(0)  # type: ignore[assignment]


class Instant(msgspec.Struct, tag="i", tag_field="ph", gc=False):
    """A moment, such as the end of the recorded window."""

    name: str = ""


OTHER_PHASES = "BEsftPMCbnNODRVvcaSTpFI()"
"""Phases of the Chrome trace format of which nothing is needed."""


def _nothing(phase: str) -> type:
    return msgspec.defstruct(f"Phase_{ord(phase)}", [], tag=phase, tag_field="ph", gc=False)


@cache
def decoder(precise: bool) -> msgspec.json.Decoder[list[Any]]:
    """Decodes a JSON array of events; numbers in quotes are numbers, as files of 2021 have them."""
    kinds: list[Any] = [Precise if precise else Complete, Instant, *map(_nothing, OTHER_PHASES)]
    union = reduce(lambda left, right: left | right, kinds)
    return msgspec.json.Decoder(list[union], strict=False)  # type: ignore[valid-type]


def lenient(entry: Any, precise: bool) -> Complete | None:
    """An event whose fields have other types than usual; None for what cannot be placed in time."""
    if not isinstance(entry, dict) or entry.get("ph") != "X":
        return None
    given = entry.get("args")
    args = given if isinstance(given, dict) else {}
    known = {field.encode_name: field.type for field in msgspec.structs.fields(Args)}
    kept = {name: value for name, value in args.items() if name in known and value is not None}
    number = Decimal if precise else float
    try:
        event = (Precise if precise else Complete)(
            name=str(entry.get("name") or ""),
            cat=str(entry.get("cat") or ""),
            pid=_id(entry.get("pid")),
            tid=_id(entry.get("tid")),
            ts=number(str(entry["ts"])),  # type: ignore[arg-type]
            dur=number(str(entry.get("dur") or 0)),  # type: ignore[arg-type]
        )
        if not (abs(event.ts) < 1e18 and abs(event.dur) < 1e18):
            return None
    except (KeyError, ValueError, ArithmeticError):
        return None
    for name, value in kept.items():
        try:
            setattr(event.args, _attribute(name), msgspec.convert(value, known[name], strict=False))
        except (msgspec.ValidationError, AttributeError):
            continue
    return event


def _id(value: Any) -> Id:
    return value if isinstance(value, int | str) else None


def _attribute(encoded: str) -> str:
    return next(field.name for field in msgspec.structs.fields(Args) if field.encode_name == encoded)
