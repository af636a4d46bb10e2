"""All engines find the same events; a compiled database is kept, shared and rebuilt."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.facts.model import EventSpec
from probes.files.log import read_text
from probes.files.log.hyperscan_matcher import KEPT, HyperscanMatcher
from probes.files.log.hyperscan_matcher import build as build_hyperscan
from probes.files.log.matcher import QUICK_ENGINES, build
from probes.files.log.syntax import detection, literals
from tests.probes.files.log.specs import ALL

ENGINES = (("literal", "plain"), ("hyperscan",), ("re2",), ("plain",))
MIXED = (
    *ALL,
    EventSpec("anchored", (r"^start of \w+$", r"end of file$")),
    EventSpec("gap", (r"alpha.{0,20}omega", r"alpha[^\r\n]{1,10}(?:beta|gamma) (?P<n>\d+)?")),
    EventSpec("spaces", (r"alpha\s+beta",)),
    EventSpec("words", (r"(?:alpha|beta|gamma)[ =:]{1,3}(?P<n>\d+)(?: of (?P<m>\d+))?",)),
    EventSpec("folded", (r"(?i)case does not matter",)),
    EventSpec("unicode", (r"显存不足",)),
)
WORDS = st.sampled_from(
    [
        "alpha",
        "beta",
        "gamma",
        "omega",
        " ",
        "  ",
        "\n",
        "\r",
        "\r\n",
        "7",
        " of 9",
        "=",
        ": ",
        "start of x",
        "end of file",
        "out of memory. Tried to allocate 2 GiB",
        "\x1b[31m",
        "\x00",
        "Case DOES not matter",
        "显存不足",
        "\xa0",
        "é",
        "[rank3]: ",
        "Traceback (most recent call last):\n",
        '  File "a.py", line 3, in f\n',
        "ValueError: x\n",
        "Using network IB",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=60))
def test_engines_agree(words: list[str]) -> None:
    data = "".join(words).encode()
    first, *others = (read_text("job.log", data, MIXED, engines=engines).events for engines in ENGINES)
    for other in others:
        assert other == first


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=400))
def test_engines_agree_on_any_bytes(data: bytes) -> None:
    first, *others = (read_text("job.log", b"alpha " + data, MIXED, engines=engines).events for engines in ENGINES)
    for other in others:
        assert other == first


@pytest.mark.parametrize(
    ("pattern", "shorter"),
    [
        (r"foo (?P<n>\d+)(?:, y (?P<z>\w+))?", r"foo (?P<n>\d)"),
        (r"abc\d+", r"abc\d"),
        (r"abc.*", r"abc"),
        (r"abc\.*?", r"abc"),
        (r"a|b(c)?", r"a|b(c)?"),
        (r"abc{2}", r"abc{2}"),
        (r"abc[^]x]*", r"abc"),
        (r"a\+", r"a\+"),
        (r"x+", r"x"),
        (r"x*", r"x*"),
        (r"abc(?:d|e)", r"abc(?:d|e)"),
    ],
)
def test_what_follows_the_required_part_is_not_searched(pattern: str, shorter: str) -> None:
    assert detection(pattern.encode()) == shorter.encode()


@pytest.mark.parametrize(
    ("pattern", "strings"),
    [
        (r"Tried to allocate (?P<n>\d+)", {"Tried to allocate "}),
        (r"(?:foo|quux)[ab]r", {"fooar", "foobr", "quuxar", "quuxbr"}),
        (r"first one|second", {"first one", "second"}),
        (r"\d+ (?:units)? done", {" done"}),
        (r"\d+", set()),
        (r"(?i)anything", set()),
        (r"one|\d", set()),
        (r"a(?:long string|\d+) b", {" b"}),
        (r"\(ms\): +[\d.]+", {"(ms):"}),
    ],
)
def test_required_strings(pattern: str, strings: set[str]) -> None:
    assert literals(pattern.encode()) == frozenset(string.encode() for string in strings)


def test_a_database_is_kept_and_used_again(tmp_path: Path) -> None:
    patterns = {0: b"out of memory"}
    build_hyperscan(patterns, tmp_path)
    (kept,) = tmp_path.iterdir()
    written = kept.stat().st_mtime_ns
    matcher, _ = build_hyperscan(patterns, tmp_path)
    assert list(matcher.scan(b"so out of memory\n")) == [(0, 16)]
    assert kept.stat().st_mtime_ns == written


@pytest.mark.parametrize("broken", [b"", b"garbage", b"\x00" * 5000])
def test_a_broken_database_is_rebuilt(broken: bytes, tmp_path: Path) -> None:
    build_hyperscan({0: b"out of memory"}, tmp_path)
    (kept,) = tmp_path.iterdir()
    good = kept.read_bytes()
    for data in (broken, good[:-100], good[:200] + b"\xff" * 40 + good[240:]):
        kept.write_bytes(data)
        matcher, _ = build_hyperscan({0: b"out of memory"}, tmp_path)
        assert list(matcher.which(b"out of memory")) == [0]


def test_other_patterns_have_another_database(tmp_path: Path) -> None:
    build_hyperscan({0: b"one"}, tmp_path)
    build_hyperscan({0: b"two"}, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    matcher, _ = build_hyperscan({0: b"out of memory"}, tmp_path / "file" / "cache")
    assert list(matcher.which(b"out of memory")) == [0]


def test_a_pattern_that_one_engine_rejects_goes_to_the_next() -> None:
    matcher, warnings = build([r"plain text", r"(?<=a)bcdef"], engines=("hyperscan", "re2", "plain"))
    assert sorted(matcher.which(b"abcdef plain text")) == [0, 1]
    assert len(warnings) == 2 and "(?<=a)bcdef" in warnings[0]


def test_of_many_databases_the_last_ones_stay(tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        build_hyperscan({0: b"pattern %d" % number}, tmp_path)
    assert len(list(tmp_path.iterdir())) == KEPT


def test_what_another_run_has_compiled_is_there_at_once(tmp_path: Path) -> None:
    patterns = ("out of memory", r"rank (?P<n>\d+)")
    before, _ = build(patterns, tmp_path, QUICK_ENGINES)
    assert not isinstance(before, HyperscanMatcher)
    build(patterns, tmp_path, ("hyperscan",))
    after, warnings = build(patterns, tmp_path, QUICK_ENGINES)
    assert isinstance(after, HyperscanMatcher)
    assert warnings == ()
    text = b"rank 3 is out of memory\n"
    assert set(after.which(text)) == set(before.which(text)) == {0, 1}
