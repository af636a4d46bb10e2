"""Input that is broken, huge or made to hurt."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.files.job_config import claims, read_config, read_echo

NAMES = ("a.sh", "a.json", "a.yaml", "a.toml", "a.py", "a.txt", "a")


def test_a_file_above_the_cap_is_a_warning() -> None:
    reading = read_config("a.json", b'{"zero_optimization": {"stage": 3}}' + b" " * 2**22)
    assert reading.facts == [] and "larger than 4 MiB" in reading.warnings[0]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfet\x00r\x00a\x00i\x00n\x00", b"\x80\x81\x82 --num-layers 8\n", b"--num-layers " + b"9" * 5000 + b"\n",
        b"a: " * 100_000, b"[" * 100_000, b'"' * 100_001, b"${" * 50_000, b"$((" * 30_000, b"x=(" * 30_000,
        b"--num-layers 8 " + b"\\\n" * 100_000, b"<<EOF\n" * 20_000, b"[" + b"a." * 100_000 + b"]\nb = 1\n",
        b"key: {a: " * 20_000, b"(" * 200_000, b"x" * 2_000_000, b"it's\n" * 100_000, b"a_b: 1 " * 100_000,
        b"if x:\n" * 50_000, b"FSDP(" * 40_000, b"4 nodes " * 50_000, b"tp_size=" * 50_000,
    ],
    ids=range(21),
)  # fmt: skip
def test_read_in_bounded_time(data: bytes) -> None:
    began = time.thread_time()
    for name in NAMES:
        claims(name, data[:65536])
        read_config(name, data)
    read_echo("job", enumerate(data.decode("utf-8", "replace").split("\n"), 1), "a.log")
    assert time.thread_time() - began < 20


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.binary(max_size=300))
def test_any_bytes_are_read(name: str, data: bytes) -> None:
    claims(name, data)
    read_config(name, data)


WORDS = '--num-layers 8 torchrun { } "zero_optimization" : = export A $A ( ) \' " # - [training] tp_size 1e999 nan auto FSDP( &a *a'
PIECES = st.sampled_from([*WORDS.split(), "\n", " ", "import x", "\\"])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), st.lists(PIECES, max_size=40).map("".join))
def test_any_mixture_of_known_words_is_read(name: str, text: str) -> None:
    read_config(name, text.encode())
    read_echo("job", enumerate(text.split("\n"), 1), "a.log")


def test_a_word_of_many_letters_costs_no_more_than_its_length() -> None:
    """Backtracking over `ds_config` within one long word was quadratic: 25 such lines took seconds."""
    long = "config" + "a" * 20_000
    assert read_echo("job", [(number, f"{long} ds_config x=1") for number in range(1, 400)], "job.log") is not None
