"""Memory for the values of a pickle: a fair share of its bytes, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

LEAST_ROOM, SHARE, MOST_ROOM = 1 << 30, 40, 8 << 30
"""Memory that the values of a pickle may take: some, and so many times its bytes (an empty dictionary is one byte
there and 64 in memory), but never more than the last."""

_ONE = Lock()
"""The limit is the whole process's: two readers at a time would restore each other's."""


@contextmanager
def bounded(size: int) -> Iterator[None]:
    """A few bytes of a pickle may ask for a table of any length: what is taken beyond a fair share raises MemoryError.

    Only Linux tells how much a process has and keeps to the limit.
    """
    try:
        import resource

        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        yield
        return
    with _ONE:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = has + min(LEAST_ROOM + SHARE * size, MOST_ROOM)
        limits = [wanted, *(each for each in (soft, hard) if each != resource.RLIM_INFINITY)]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
