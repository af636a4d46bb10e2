"""Lists of hosts as Slurm and people write them: `gpu[01-03,07],head`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

MOST_HOSTS, MOST_RANGES = 20_000, 8
_PART = re.compile(r"[^,\s\[\]]*(?:\[[^\[\]]*\][^,\s\[\]]*)*")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?$")


def hosts_in(text: str) -> list[str]:
    """The hosts of a list, each once, in order; what is no range stays as it is written. At most MOST_HOSTS."""
    found: dict[str, None] = {}
    for part in _PART.findall(text):
        for host in _expanded(part) if part else ():
            found[host] = None
            if len(found) >= MOST_HOSTS:
                return list(found)
    return list(found)


def _expanded(part: str) -> Iterator[str]:
    """The names of one part: with the ranges of each bracket, but for so many brackets that no host has them."""
    ranges = list(_RANGES.finditer(part))
    if len(ranges) > MOST_RANGES:
        yield part
        return
    names, at = [""], 0
    for found in ranges:
        plain, at = part[at : found.start()], found.end()
        # Each once: `[1,1]` in a few brackets would be walked for years, and name one host.
        texts = list(dict.fromkeys(islice(_listed(found[1]), MOST_HOSTS)))
        names = list(islice((f"{name}{plain}{text}" for name in names for text in texts), MOST_HOSTS))
    yield from (name + part[at:] for name in names)


def _listed(text: str) -> Iterator[str]:
    for number in text.split(","):
        yield from _numbers(number.strip())


def _numbers(text: str) -> Iterator[str]:
    """`01-03` as 01, 02, 03: as many digits as the first has."""
    match = _RANGE.match(text)
    if match is None or match[2] is None or int(match[2]) < int(match[1]):
        yield text
        return
    for number in range(int(match[1]), min(int(match[2]), int(match[1]) + MOST_HOSTS) + 1):
        yield f"{number:0{len(match[1])}}"
