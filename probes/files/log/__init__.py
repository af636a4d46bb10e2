"""Logs of training jobs, read into events and facts.

`read_logs` reads files of any size, number and wrapping; `read_text` does the same with a text in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from doctor.facts.model import EventSpec
from probes.files.elsewhere import Elsewhere
from probes.files.log import elsewhere as away
from probes.files.log.facts import facts_of
from probes.files.log.lines import BULK
from probes.files.log.matcher import ENGINES, SMALL_ENGINES
from probes.files.log.model import InputInfo, LogFile, LogReading
from probes.files.log.patterns import Patterns
from probes.files.log.ranks import ranks_by_folder
from probes.files.log.reader import LAST_LINE, FileReading, read_file
from probes.files.runs import runs_of

SMALL_INPUT = 8 << 20
"""Bytes from which on it pays to compile or load the database of all patterns."""

BULK_IN_ALL = 4096
BULK_LEAST = 16
"""Ordinary messages that are read one by one: fewer of each file where there are hundreds of files."""

__all__ = ["LAST_LINE", "InputInfo", "LogFile", "LogReading", "read_logs", "read_text", "read_texts"]


def read_logs(
    paths: Sequence[LogFile],
    specs: Sequence[EventSpec],
    cache_dir: Path | None = None,
    *,
    limit: int | None = None,
    engines: Sequence[str] = (),
    elsewhere: Elsewhere | None = None,
) -> LogReading:
    """Events and facts of all `paths`. A file that cannot be read gives a warning in its `InputInfo`.

    `cache_dir` keeps compiled patterns between runs, `engines` are tried in turn; `limit` is the number of bytes that
    a packed file may unpack to. `elsewhere` reads the files first; what it leaves is read here.
    """
    return _read([(file.name, file.path) for file in paths], specs, cache_dir, limit, tuple(engines), elsewhere)


def read_text(name: str, data: bytes, specs: Sequence[EventSpec], *, engines: Sequence[str] = ()) -> LogReading:
    """Events and facts of one log in memory."""
    return _read([(name, data)], specs, None, None, tuple(engines))


def read_texts(
    texts: Sequence[tuple[str, bytes]], specs: Sequence[EventSpec], *, engines: Sequence[str] = ()
) -> LogReading:
    """Events and facts of several logs in memory, of one job."""
    return _read(list(texts), specs, None, None, tuple(engines))


def _read(
    sources: Sequence[tuple[str, Path | bytes]],
    specs: Sequence[EventSpec],
    cache_dir: Path | None,
    limit: int | None,
    engines: tuple[str, ...],
    elsewhere: Elsewhere | None = None,
) -> LogReading:
    patterns = Patterns(specs)
    engines = engines or (ENGINES if _size(sources) > SMALL_INPUT else SMALL_ENGINES)
    vague = frozenset() if engines == SMALL_ENGINES else patterns.vague
    matcher, telling, complaints = away.matchers(patterns.texts, vague, cache_dir, engines)
    runs = runs_of([name for name, _ in sources])
    guesses = ranks_by_folder([name for name, _ in sources])
    bulk = max(BULK_LEAST, min(BULK, BULK_IN_ALL // max(1, len(sources))))
    orders = [
        away.Order(guesses.get(name), len(sources) == 1, bulk, runs[name], limit, engines, bool(vague), bool(guesses))
        for name, _ in sources
    ]
    found = _found_elsewhere(sources, orders, specs, cache_dir, elsewhere) if elsewhere is not None else {}
    readings: list[FileReading] = []
    inputs: list[InputInfo] = []
    for place, (name, source) in enumerate(sources):
        order = orders[place]
        try:
            reading = found.get(place) or read_file(
                source,
                name,
                patterns,
                matcher,
                telling,
                limit=order.limit,
                rank=order.rank,
                alone=order.alone,
                bulk=order.bulk,
                run=order.run,
                one_node=order.one_node,
            )
        except OSError as error:
            inputs.append(InputInfo(name, "log", 0, warnings=(f"cannot be read: {error.strerror or error}",)))
            continue
        readings.append(reading)
        inputs.append(
            InputInfo(name, "log", reading.size, reading.rank, reading.host, (*reading.warnings, *complaints))
        )
        complaints = ()
    events = [event for reading in readings for event in reading.events]
    return LogReading(events, facts_of(readings, runs), inputs)


def _found_elsewhere(
    sources: Sequence[tuple[str, Path | bytes]],
    orders: Sequence[away.Order],
    specs: Sequence[EventSpec],
    cache_dir: Path | None,
    elsewhere: Elsewhere,
) -> dict[int, FileReading]:
    """What other machines read, by place."""
    found: dict[int, FileReading] = {}
    told = away.packed(specs)
    calls = [(path, name, order, told, cache_dir) for (name, path), order in zip(sources, orders, strict=True)]

    def done(place: int, data: bytes) -> None:
        found[place] = away.unpacked(data)

    elsewhere(away.read, calls, done)
    return found


def _size(sources: Sequence[tuple[str, Path | bytes]]) -> int:
    """Bytes as stored; a packed log may be much longer."""
    total = 0
    for name, source in sources:
        with suppress(OSError):
            stored = len(source) if isinstance(source, bytes) else source.stat().st_size
            total += stored * (16 if name.endswith((".gz", ".zst", ".xz", ".bz2")) else 1)
    return total
