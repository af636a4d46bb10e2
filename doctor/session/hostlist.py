"""Lists of hosts as Slurm and people write them: `gpu[01-03,07],head`."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_HOSTS = 20_000
_PART = re.compile(r"[^,\s\[\]]*(?:\[[^\[\]]*\][^,\s\[\]]*)*")
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


def _expanded(part: str, from_: int = 0) -> Iterator[str]:
    begin = part.find("[", from_)
    end = part.find("]", begin)
    if begin < 0 or end < 0:
        yield part
        return
    for number in part[begin + 1 : end].split(","):
        for text in _numbers(number.strip()):
            name = part[:begin] + text + part[end + 1 :]
            yield from _expanded(name, begin + len(text))


def _numbers(text: str) -> Iterator[str]:
    """`01-03` as 01, 02, 03: as many digits as the first has."""
    match = _RANGE.match(text)
    if match is None or match[2] is None or int(match[2]) < int(match[1]):
        yield text
        return
    for number in range(int(match[1]), min(int(match[2]), int(match[1]) + MOST_HOSTS) + 1):
        yield f"{number:0{len(match[1])}}"
