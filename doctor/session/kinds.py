"""Tells text from binary by content."""

from __future__ import annotations

CONTROLS = bytes(code for code in range(1, 32) if code not in (7, 8, 9, 10, 12, 13, 27))
"""Control characters that text does not hold; bell, backspace, form feed and escape occur in terminal output."""

MOST_CONTROLS = 0.02
"""Share of such characters from which a file is taken for binary: random bytes have 10%, text has next to none."""

MAGIC = (
    b"\x7fELF",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ",
    b"%PDF-",
    b"\x89PNG",
    b"\x89HDF",
    b"SQLite format 3",
    b"\x80\x02",
    b"\x80\x03",
    b"\x80\x04",
)
"""Beginnings of programs, archives (of a file that was unpacked already), pictures, databases and pickles."""


def is_text(head: bytes) -> bool:
    """Is this beginning of a file, without its NUL bytes, text in any encoding?"""
    controls = len(head) - len(head.translate(None, CONTROLS))
    return bool(head) and not head.startswith(MAGIC) and controls <= MOST_CONTROLS * len(head)
