"""One log as a task for another machine: what goes there and what comes back are bytes.

The messages to look for go along, so that the machine needs no rules of its own; they are the same for all logs of a
job and are taken apart once. What a message captured is a read-only mapping, which cannot be pickled: events come back
as MessagePack.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from doctor.facts.model import EventSpec
from probes.files.log.matcher import Matcher, Several, build
from probes.files.log.patterns import Patterns
from probes.files.log.reader import FileReading, read_file


@dataclass(frozen=True, slots=True)
class Order:
    """What all files of the job say of how one of them is read; see `read_file`."""

    rank: int | None
    alone: bool
    bulk: int
    run: str
    limit: int | None
    engines: tuple[str, ...]
    vague: bool
    one_node: bool = False


def packed(specs: Sequence[EventSpec]) -> bytes:
    """The messages to look for; what they mean is not needed to find them."""
    return zlib.compress(msgspec.msgpack.encode([replace(spec, meaning={}) for spec in specs]))


def read(path: Path, name: str, order: Order, specs: bytes, cache_dir: Path | None) -> bytes:
    """Reads the log at `path`; OSError if it cannot be opened."""
    patterns, matcher, telling = _prepared(specs, order.engines, order.vague, cache_dir)
    reading = read_file(
        path,
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
    return msgspec.msgpack.encode(reading, enc_hook=_plain)


def unpacked(data: bytes) -> FileReading:
    return msgspec.msgpack.decode(data, type=FileReading)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(type(value))


@lru_cache(maxsize=2)
def _prepared(
    specs: bytes, engines: tuple[str, ...], vague: bool, cache_dir: Path | None
) -> tuple[Patterns, Matcher, Matcher]:
    patterns = Patterns(msgspec.msgpack.decode(zlib.decompress(specs), type=list[EventSpec]))
    matcher, telling, _ = matchers(patterns.texts, patterns.vague if vague else frozenset(), cache_dir, engines)
    return patterns, matcher, telling


@lru_cache(maxsize=8)
def matchers(
    texts: tuple[str, ...], vague: frozenset[int], cache_dir: Path | None, engines: tuple[str, ...]
) -> tuple[Matcher, Matcher, tuple[str, ...]]:
    """A matcher of all patterns, one without vague ones, and warnings."""
    if not vague:
        matcher, warnings = build(texts, cache_dir, engines)
        return matcher, matcher, warnings
    telling, warnings = build(texts, cache_dir, engines, set(range(len(texts))) - vague)
    rest, more = build(texts, cache_dir, engines, vague)
    return Several([telling, rest]), telling, tuple(dict.fromkeys((*warnings, *more)))
