from __future__ import annotations

import random

import pytest

from doctor.session.kinds import is_text


@pytest.mark.parametrize(
    "head",
    [
        b"iteration 10 | loss 2.3\n",
        "显存不足\n".encode(),
        "显存不足\n".encode("gbk"),
        "Speicher läuft über\n".encode("latin-1"),
        b"\x1b[31mred\x1b[0m \r 10%|###   | \x08\x08\n" * 10,
        b"x",
    ],
)
def test_text_in_any_encoding_and_with_terminal_codes_is_text(head: bytes) -> None:
    assert is_text(head)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x7fELF\x02\x01\x01",
        b"PK\x03\x04rest of a checkpoint",
        random.Random(1).randbytes(4096),
        b"\x80\x02}q\x00X",
    ],
)
def test_programs_archives_and_random_bytes_are_not(head: bytes) -> None:
    assert not is_text(head.replace(b"\0", b""))
