"""What a probe is and what it may give. A probe is a module with `SPEC` and `probe`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from doctor.facts.model import Fact, Quality, Source, Value
from probes.node.interface.host import WINDOW, Host


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """What is known of a probe without running it.

    `looks_at` says what it reads, `provides` the facts it may give (`gpu.*` for all of a family); `seconds` is the
    time it is given on a node that is not busy, `native` that where frames of libraries are asked for; `privilege` says
    what it cannot see without, none when any user sees all of it; `watches` that it looks on for the host's `window`,
    of which the usual one is part of `seconds`. All probes of this folder are free: they read, and change nothing.
    """

    name: str
    looks_at: str
    provides: tuple[str, ...]
    seconds: float = 2.0
    privilege: str = ""
    native: float = 0.0
    watches: bool = False

    def time_on(self, host: Host) -> float:
        longer = max(host.window - WINDOW, 0.0) if self.watches else 0.0
        return max(self.native if host.native else 0.0, self.seconds) * host.crowding() + longer


@dataclass(frozen=True, slots=True)
class Text:
    """Text of `host` that is read as a file called `name` would be, such as the kernel's log."""

    name: str
    text: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A file of the job that lies on this node: a log or a configuration."""

    path: str


Given: TypeAlias = Fact | Text | Place


class Probe(Protocol):
    """`probe` gives what it finds as it finds it; what could not be read is a fact of quality FAILED that says why."""

    SPEC: ProbeSpec

    def probe(self, host: Host) -> Iterable[Given]: ...


def measured(name: str, value: Value, entity: str, path: str, text: str = "", line: int = 0) -> Fact:
    """A fact that was read at `path`, a file or a call, where `text` stood."""
    return Fact(name, value, entity, Source("probe", path, line, text), quality=Quality.MEASURED)


def failed(name: str, reason: str, entity: str, path: str = "") -> Fact:
    """A fact that was looked for and could not be read."""
    return Fact(name, reason, entity, Source("probe", path), quality=Quality.FAILED)


def why(error: OSError) -> str:
    return error.strerror or type(error).__name__
