"""Events of a trace as columns: a few numbers an event, names kept once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from probes.files.trace.schema import Args, Complete

K = TypeVar("K")
Ints = npt.NDArray[np.int64]

EXACT_PARTS = 2.0**43
"""Below so many microseconds a double tells thousandths apart (its spacing is 2^-10), so three decimals are read
exactly; kineto's times since its base stay below 7.9e12."""

FARTHEST = 9e15
"""Microseconds beyond which a time does not fit into 64 bits of nanoseconds; it counts as -1, which is no time."""

WIDE = 1 << 62


class Interned(dict[K, int], Generic[K]):
    """Small numbers for values, in order of appearance."""

    def __missing__(self, key: K) -> int:
        number = self[key] = len(self)
        return number


@dataclass(slots=True)
class Collective:
    """What the arguments of a collective say: the same for many calls."""

    name: str
    group: str
    description: str
    ranks: str
    size: int
    dtype: str
    sent: int
    received: int


@dataclass(slots=True)
class Called:
    """Which rows of the device's table are collectives, of which kind, and their number in the group (-1 unknown)."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    kinds: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[int] = field(default_factory=lambda: array("q"))

    def add(self, row: int, kind: int, number: int) -> None:
        self.rows.append(row)
        self.kinds.append(kind)
        self.numbers.append(number if abs(number) < WIDE else -1)

    def columns(self) -> tuple[Ints, Ints, Ints]:
        """Rows, kinds and numbers."""
        return (
            np.frombuffer(self.rows, dtype=np.int64),
            np.frombuffer(self.kinds, dtype=np.int32).astype(np.int64),
            np.frombuffer(self.numbers, dtype=np.int64),
        )


@dataclass(slots=True)
class Mark:
    """A range on the host: an annotation, or a Python function that matters. Times in ns."""

    name: str
    start: int
    duration: int
    thread: int


@dataclass(slots=True)
class Table:
    """Columns of integers that grow; `column` gives one as an array without copying it."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    durations: array[int] = field(default_factory=lambda: array("q"))
    names: array[int] = field(default_factory=lambda: array("i"))
    places: array[int] = field(default_factory=lambda: array("i"))
    correlations: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.starts)

    def extend(self, starts: Ints, durations: Ints, names: list[int], places: list[int], links: list[int]) -> None:
        self.starts.frombytes(starts.tobytes())
        self.durations.frombytes(durations.tobytes())
        self.names.extend(names)
        self.places.extend(places)
        try:
            self.correlations.extend(links)
        except OverflowError:
            del self.correlations[len(self.starts) - len(links) :]
            self.correlations.extend([link if abs(link) < WIDE else 0 for link in links])

    def column(self, name: str) -> Ints:
        values: array[int] = getattr(self, name)
        return np.frombuffer(values, dtype=np.int64 if values.typecode == "q" else np.int32)

    @property
    def bytes(self) -> int:
        columns = (self.starts, self.durations, self.names, self.places, self.correlations)
        return sum(len(values) * values.itemsize for values in columns)


def nanoseconds(values: Sequence[float]) -> Ints:
    """Whole nanoseconds of microseconds that are doubles or decimals, exactly where the double holds them.

    The whole part and the fraction are taken apart, so no product leaves the 53 bits of a double.
    """
    if values and not isinstance(values[0], float):
        kept = [value if abs(value) < FARTHEST else -1 for value in values]
        return np.array([round(value * 1000) for value in kept], dtype=np.int64)
    times = np.array(values, dtype=np.float64)
    times = np.where(np.abs(times) < FARTHEST, times, -1.0)
    whole = np.floor(times)
    rest = np.rint((times - whole) * 1000.0)
    return whole.astype(np.int64) * 1000 + rest.astype(np.int64)


def times(events: Sequence[Complete]) -> tuple[Ints, Ints]:
    """Starts and durations in ns."""
    return nanoseconds([event.ts for event in events]), nanoseconds([event.dur for event in events])


def collective_of(args: Args, intern: Callable[[str], str]) -> Collective:
    text = "" if args.group is None else str(args.group)
    return Collective(
        name=intern(args.collective or ""),
        group=intern(text),
        description=intern(args.description or ""),
        ranks=intern(args.ranks or ""),
        size=args.size,
        dtype=intern(args.dtype or ""),
        sent=args.sent,
        received=args.received,
    )
