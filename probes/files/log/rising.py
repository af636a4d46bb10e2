"""An engine that is ready at once, until one that reads faster is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

from probes.files.log.matcher import Matcher

WORTH = 4 << 20
"""B that have come from which the faster engine is made, which takes as long as some megabytes with the first one."""


class Rising:
    """`small` until `large` has made another one, in a thread of its own. Both find the same."""

    def __init__(self, small: Matcher, large: Callable[[], Matcher]) -> None:
        self._matcher, self._large = small, large
        self._seen = 0
        self._thread: threading.Thread | None = None

    def which(self, block: bytes) -> Collection[int]:
        self._seen += len(block)
        if self._thread is None and self._seen >= WORTH:
            self._thread = threading.Thread(target=self._rise, name="faster engine", daemon=True)
            self._thread.start()
        return self._matcher.which(block)

    def scan(self, block: bytes, found: Collection[int] | None = None) -> Iterable[tuple[int, int]]:
        return self._matcher.scan(block, found)

    def _rise(self) -> None:
        with suppress(Exception):  # then the small one reads on
            self._matcher = self._large()
