"""Pictures as data: what every view draws in its own way."""

from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.facts.model import Fact
from doctor.facts.store import FactStore

MICROSECOND = 1e-6
ROLES = ("tp", "pp", "dp", "ep", "cp", "unknown")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar: what it is (`compute`, `comm_tp`, `memory`, `idle_host` ...) and its share of the whole."""

    kind: str
    share: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: whom it is of, how long the whole is in seconds or how large in bytes, and its parts in order."""

    entity: str
    seconds: float
    parts: tuple[Part, ...]
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars that are read together; `kind` names the picture."""

    kind: str
    bars: tuple[Bar, ...]


def pictures_of(store: FactStore) -> tuple[Picture, ...]:
    """The pictures that the facts give."""
    bars = tuple(bar for entity in _ranks(store) if (bar := _time_of(store, entity)) is not None)
    return (Picture("device_time", bars),) if bars else ()


def _ranks(store: FactStore) -> list[str]:
    entities = {fact.entity for fact in store.every("trace.span_us") if fact.entity.startswith("rank:")}
    return sorted(entities, key=lambda entity: [int(number) for number in re.findall(r"\d+", entity)])


def _time_of(store: FactStore, entity: str) -> Bar | None:
    """Where the time of a rank's device went. Kinds of communication that run at once share what is exposed."""
    span = _value(store, "trace.span_us", entity)
    if span is None or span <= 0:
        return None
    compute, copies = (_value(store, f"trace.{name}_us", entity) or 0.0 for name in ("compute", "exposed_mem"))
    exposed = (_value(store, "trace.exposed_comm_us", entity) or 0.0) / span
    shares = {role: _value(store, f"trace.exposed_{role}_share", entity) or 0.0 for role in ROLES}
    together = sum(shares.values())
    parts = [Part("compute", compute / span)]
    parts += [Part(f"comm_{role}", share * exposed / together) for role, share in shares.items() if share > 0]
    parts.append(Part("memory", copies / span))
    idle = [(f"idle_{why}", _value(store, f"trace.idle_{why}_share", entity)) for why in ("host", "sync", "other")]
    if all(share is None for _, share in idle):
        idle = [("idle", (_value(store, "trace.idle_us", entity) or 0.0) / span)]
    parts += [Part(kind, share) for kind, share in idle if share is not None]
    return Bar(entity, span * MICROSECOND, tuple(part for part in parts if part.share > 0))


def _value(store: FactStore, name: str, entity: str) -> float | None:
    fact: Fact | None = store.get(name, entity)
    return float(fact.value) if fact is not None and isinstance(fact.value, int | float) else None
