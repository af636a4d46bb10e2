"""An exported profile as a database that is only read: no table is taken for granted, nothing in the file can act."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

MOST_STEPS = 20_000
"""Times that a query may report progress, each a million operations of the database, before it is ended."""
EVERY = 1_000_000


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, unchangeable; queries that would run without end raise sqlite3.OperationalError."""
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as base:
        base.execute("PRAGMA trusted_schema=OFF")
        base.execute("PRAGMA query_only=ON")
        base.text_factory = _text
        left = [MOST_STEPS]

        def tick() -> int:
            left[0] -= 1
            return int(left[0] < 0)

        base.set_progress_handler(tick, EVERY)
        yield base


def columns(base: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of a plain table; none where there is no such table, or only a view of that name."""
    row = base.execute("SELECT sql FROM sqlite_master WHERE type='table' AND name=?", (table,)).fetchone()
    if row is None or "VIRTUAL" in str(row[0])[:40].upper():
        return frozenset()
    return frozenset(str(told[1]) for told in base.execute(f'PRAGMA table_info("{table}")'))


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
