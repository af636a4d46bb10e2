"""The constant texts of a library, without loading it: nothing in it runs."""

from __future__ import annotations

import struct
from pathlib import Path

MOST_SECTIONS, MOST_NAMES, MOST_DATA = 4096, 1 << 20, 32 << 20
HEADER, SECTION = 64, 64
"""Bytes of the header and of an entry of the section table of ELF for 64 bits (System V ABI, chapter 4)."""


def read_only_data(path: Path) -> bytes:
    """The section .rodata, of which at most 32 MiB; b"" where the file has none. OSError when it cannot be read, and
    ValueError when it is no library for 64 bits."""
    with path.open("rb") as file:
        head = file.read(HEADER)
        if len(head) < HEADER or head[:4] != b"\x7fELF" or head[4] != 2 or head[5] != 1:
            raise ValueError("not a library for 64 bits")
        (table,) = struct.unpack_from("<Q", head, 40)
        size, count, names_at = struct.unpack_from("<HHH", head, 58)
        if size != SECTION or not 0 < count <= MOST_SECTIONS or names_at >= count:
            raise ValueError("without a table of sections")
        file.seek(table)
        rows = file.read(SECTION * count)
        if len(rows) < SECTION * count:
            raise ValueError("cut off")
        sections = [struct.unpack_from("<IIQQQQ", rows, SECTION * index) for index in range(count)]
        file.seek(sections[names_at][4])
        names = file.read(min(sections[names_at][5], MOST_NAMES))
        for name, _, _, _, offset, length in sections:
            if names[name : name + 8] == b".rodata\0":
                file.seek(offset)
                return file.read(min(length, MOST_DATA))
    return b""
