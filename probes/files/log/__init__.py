"""Logs of training jobs, read into events and facts.

`read_logs` reads files of any size, number and wrapping; `read_text` does the same with a text in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from doctor.facts.model import EventSpec
from probes.files.log.facts import facts_of
from probes.files.log.lines import BULK, Patterns
from probes.files.log.matcher import ENGINES, SMALL_ENGINES, Matcher, Several, build
from probes.files.log.model import InputInfo, LogFile, LogReading
from probes.files.log.reader import FileReading, read_file
from probes.files.runs import runs_of

SMALL_INPUT = 8 << 20
"""Bytes from which on it pays to compile or load the database of all patterns."""

BULK_IN_ALL = 4096
BULK_LEAST = 16
"""Ordinary messages that are read one by one: fewer of each file where there are hundreds of files."""

__all__ = ["InputInfo", "LogFile", "LogReading", "read_logs", "read_text", "read_texts"]


def read_logs(
    paths: Sequence[LogFile],
    specs: Sequence[EventSpec],
    cache_dir: Path | None = None,
    *,
    limit: int | None = None,
    engines: Sequence[str] = (),
) -> LogReading:
    """Events and facts of all `paths`. A file that cannot be read gives a warning in its `InputInfo`.

    `cache_dir` keeps compiled patterns between runs, `engines` are tried in turn; `limit` is
    the number of bytes that a packed file may unpack to.
    """
    return _read([(file.name, file.path) for file in paths], specs, cache_dir, limit, tuple(engines))


def read_text(name: str, data: bytes, specs: Sequence[EventSpec], *, engines: Sequence[str] = ()) -> LogReading:
    """Events and facts of one log in memory."""
    return _read([(name, data)], specs, None, None, tuple(engines))


def read_texts(
    texts: Sequence[tuple[str, bytes]], specs: Sequence[EventSpec], *, engines: Sequence[str] = ()
) -> LogReading:
    """Events and facts of several logs in memory, of one job."""
    return _read(list(texts), specs, None, None, tuple(engines))


@lru_cache(maxsize=8)
def _matchers(
    texts: tuple[str, ...], vague: frozenset[int], cache_dir: Path | None, engines: tuple[str, ...]
) -> tuple[Matcher, Matcher, tuple[str, ...]]:
    """A matcher of all patterns, one without vague ones, and warnings."""
    if not vague:
        matcher, warnings = build(texts, cache_dir, engines)
        return matcher, matcher, warnings
    telling, warnings = build(texts, cache_dir, engines, set(range(len(texts))) - vague)
    rest, more = build(texts, cache_dir, engines, vague)
    return Several([telling, rest]), telling, tuple(dict.fromkeys((*warnings, *more)))


def _read(
    sources: Sequence[tuple[str, Path | bytes]],
    specs: Sequence[EventSpec],
    cache_dir: Path | None,
    limit: int | None,
    engines: tuple[str, ...],
) -> LogReading:
    patterns = Patterns(specs)
    engines = engines or (ENGINES if _size(sources) > SMALL_INPUT else SMALL_ENGINES)
    vague = frozenset() if engines == SMALL_ENGINES else patterns.vague
    matcher, telling, complaints = _matchers(patterns.texts, vague, cache_dir, engines)
    runs = runs_of([name for name, _ in sources])
    guesses = _ranks_by_folder([name for name, _ in sources])
    bulk = max(BULK_LEAST, min(BULK, BULK_IN_ALL // max(1, len(sources))))
    readings: list[FileReading] = []
    inputs: list[InputInfo] = []
    for name, source in sources:
        try:
            reading = read_file(
                source,
                name,
                patterns,
                matcher,
                telling,
                limit=limit,
                rank=guesses.get(name),
                alone=len(sources) == 1,
                bulk=bulk,
                run=runs[name],
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


def _size(sources: Sequence[tuple[str, Path | bytes]]) -> int:
    """Bytes as stored; a packed log may be much longer."""
    total = 0
    for name, source in sources:
        with suppress(OSError):
            stored = len(source) if isinstance(source, bytes) else source.stat().st_size
            total += stored * (16 if name.endswith((".gz", ".zst", ".xz", ".bz2")) else 1)
    return total


def _ranks_by_folder(names: Sequence[str]) -> dict[str, int]:
    """torchrun names folders by local rank, which is the rank if no two nodes' logs are among the files."""
    from probes.files.log.place import place

    local = {name: found.local_rank for name in names if (found := place(name)).attempt is not None}
    folders = {name.rsplit("/", 2)[0] for name in local}
    if len(folders) != 1:
        return {}
    return {name: rank for name, rank in local.items() if rank is not None}
