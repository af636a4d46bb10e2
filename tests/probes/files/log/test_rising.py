from __future__ import annotations

import time
from pathlib import Path

from probes.files.log.elsewhere import matchers
from probes.files.log.matcher import ENGINES, SMALL_ENGINES
from probes.files.log.patterns import Patterns
from probes.files.log.rising import WORTH, Rising
from tests.probes.files.log.specs import ALL

BLOCK = b"nothing to see here\n" * 1000


def test_the_faster_engine_takes_over_once_much_has_come(tmp_path: Path) -> None:
    texts = Patterns(ALL).texts
    small, _, _ = matchers(texts, frozenset(), tmp_path, SMALL_ENGINES)
    large, _, _ = matchers(texts, frozenset(), tmp_path, ENGINES)
    rising = Rising(small, lambda: large)
    rising.which(BLOCK)
    assert rising._matcher is small
    for _ in range(WORTH // len(BLOCK) + 1):
        rising.which(BLOCK)
    end = time.monotonic() + 180.0
    while rising._matcher is not large and time.monotonic() < end:
        time.sleep(0.01)
    assert rising._matcher is large


def test_where_there_is_no_faster_one_the_first_reads_on() -> None:
    texts = Patterns(ALL).texts
    small, _, _ = matchers(texts, frozenset(), None, SMALL_ENGINES)

    def none() -> object:
        raise ImportError("hyperscan")

    rising = Rising(small, none)  # type: ignore[arg-type]
    for _ in range(WORTH // len(BLOCK) + 2):
        rising.which(BLOCK)
    assert rising._thread is not None
    rising._thread.join(180.0)
    assert rising._matcher is small
