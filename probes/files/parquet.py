"""Tables in Parquet: told by their end, read with pyarrow where it is installed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

MAGIC = b"PAR1"
LARGEST_FOOTER = 16 << 20
MOST_ROWS = 20_000_000
ABSENT = "is Parquet, which needs pyarrow: pip install 'pdoctor[parquet]'"


class ParquetError(Exception):
    """The table cannot be read; the text says why in one line."""


def footer(path: Path) -> bytes:
    """The description at the end of the file, in which the columns are named; empty for any other file."""
    try:
        with path.open("rb") as file:
            if file.read(4) != MAGIC:
                return b""
            size = file.seek(0, 2)
            file.seek(max(size - 8, 0))
            tail = file.read(8)
            length = int.from_bytes(tail[:4], "little")
            if tail[4:] != MAGIC or not 0 < length <= min(LARGEST_FOOTER, size - 12):
                return b""
            file.seek(size - 8 - length)
            return file.read(length)
    except OSError:
        return b""


def columns(path: Path, wanted: Iterable[str]) -> dict[str, list[Any]]:
    """The wanted columns that the table has, as lists of plain values."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ParquetError(ABSENT) from None
    try:
        table = parquet.ParquetFile(path)
        if table.metadata.num_rows > MOST_ROWS:
            raise ParquetError(f"has {table.metadata.num_rows:,} rows, more than the {MOST_ROWS:,} that are read")
        names = [name for name in table.schema_arrow.names if name in set(wanted)]
        read: dict[str, list[Any]] = table.read(columns=names).to_pydict()
        return read
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        raise ParquetError(f"is damaged Parquet: {str(error).splitlines()[0][:200]}") from None
