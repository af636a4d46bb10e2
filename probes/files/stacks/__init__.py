"""Reads stacks of ranks that hang, as `py-spy dump` and Python's faulthandler write them, and says who is waited for.

Files of one rank each, or one file of several processes. Two dumps of a rank tell whether it moved between them.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from doctor.facts.model import Fact, Source
from probes.files.stacks import faulthandler, pyspy
from probes.files.stacks.doing import stand_of
from probes.files.stacks.facts import facts
from probes.files.stacks.model import Stack, StackError
from probes.files.stacks.verdict import RankStack, verdict

__all__ = ["StacksReading", "is_stacks", "read_printed", "read_stacks"]

HEAD = 4 << 10
LARGEST, TAIL = 64 << 20, 256 << 10
MOST_RANKS = 20_000

PYSPY = re.compile(rb"(?:^|\n)Process \d{1,9}: [^\n]*\nPython v\d")
FAULT = re.compile(
    rb"^\s*(?:Fatal Python error: |Timeout \(\d+:\d\d:\d\d|(?:Current thread|Thread) 0x[0-9a-f]+)[^\n]*\n"
)
CALLS = re.compile(rb"\(most recent call first\)")
CRASH = re.compile(rb"Fatal Python error: ")
_PREFIX = re.compile(r"\[[A-Za-z_]*?(\d{1,7})\]:")
JSON = re.compile(rb'^\s*\[\s*\{\s*"pid":\s*\d+,\s*"thread_id":')
_RANK_IN_NAME = re.compile(r"rank[_.-]?(\d{1,7})", re.IGNORECASE)
_RANK_IN_COMMAND = re.compile(r"--(?:local[_-])?rank[= ](\d{1,7})(?!\d)")


@dataclass(slots=True)
class StacksReading:
    """What the stacks say, the rank of each file that holds one rank's, and remarks by file."""

    facts: list[Fact] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def says(self, name: str, text: str) -> None:
        self.warnings.setdefault(name, []).append(f"{name}: {text}")


def is_stacks(path: Path) -> bool:
    """Does the file begin with stacks? A log in whose middle a stack was printed is a log."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    if JSON.match(head) or (FAULT.match(head) and CALLS.search(head)):
        return True
    found = PYSPY.search(head)
    return found is not None and head.count(b"\n", 0, found.start()) < 4


def read_stacks(files: Sequence[tuple[Path, str]]) -> StacksReading:
    """Facts of `files`, each of which `is_stacks` takes for stacks; all are taken for ranks of one job."""
    reading = StacksReading()
    moments: dict[int, list[Stack]] = defaultdict(list)
    unnumbered: list[tuple[str, list[Stack]]] = []
    for path, name in files:
        try:
            stacks = _read(path, name)
        except (StackError, OSError) as error:
            reading.says(name, str(error))
            continue
        ranks = {_named(stack, name, len({one.pid for one in stacks})) for stack in stacks}
        if None in ranks:
            unnumbered.append((name, stacks))
            continue
        for stack in stacks:
            moments[_named(stack, name, len({one.pid for one in stacks})) or 0].append(stack)
        if len(ranks) == 1:
            reading.ranks[name] = next(iter(ranks)) or 0
    _number(unnumbered, moments, reading)
    # whether ranks are missing is not known of files; a gap in the numbers says that some were not handed over
    if not _judge(moments, reading, whole=sorted(moments) == list(range(len(moments)))) and files:
        reading.says(files[0][1], "holds no main thread of any rank")
    return reading


def _judge(moments: Mapping[int, Sequence[Stack]], reading: StacksReading, whole: bool) -> bool:
    """Adds the facts; false if there is nothing to tell."""
    ranks = [rank for number in sorted(moments)[:MOST_RANKS] if (rank := _rank(number, moments[number]))]
    if not ranks:
        return False
    sources = {rank.rank: _source(moments[rank.rank][-1]) for rank in ranks}
    reading.facts += facts(ranks, verdict(ranks, whole=whole and len(ranks) == len(moments)), sources)
    return True


def read_printed(files: Sequence[tuple[Path, str, int | None]]) -> StacksReading:
    """Facts of the stacks that faulthandler printed into logs, at a signal or after a time; each file with its rank.

    What it prints at a crash tells of that crash, and of nobody who waits: it is left out.
    """
    reading = StacksReading()
    moments: dict[int, list[Stack]] = defaultdict(list)
    for path, name, known in files:
        for told, lines in _printed(path).items():
            number = told if told is not None else known if known is not None else _named(Stack(0, ()), name, 1)
            if number is not None:
                moments[number] += faulthandler.from_text(lines, name)
    _judge(moments, reading, whole=False)
    return reading


def _printed(path: Path) -> dict[int | None, list[str]]:
    """The lines at the end of a log by the rank that torchrun's prefix names, where there are stacks among them."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - TAIL, 0))
            data = file.read(TAIL)
    except OSError:
        return {}
    if not CALLS.search(data) or CRASH.search(data):
        return {}
    found: dict[int | None, list[str]] = defaultdict(list)
    for line in data.decode("utf-8", errors="replace").split("\n"):
        prefix = _PREFIX.match(line)
        found[int(prefix[1]) if prefix else None].append(line[prefix.end() :] if prefix else line)
    return {rank: lines for rank, lines in found.items() if any("(most recent call first)" in line for line in lines)}


def _read(path: Path, name: str) -> list[Stack]:
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise StackError(f"larger than {LARGEST >> 20} MiB, not read")
    text = data.decode("utf-8", errors="replace")
    if JSON.match(data[:HEAD]):
        found = pyspy.from_json(text, name)
    else:
        lines = text.split("\n")
        found = pyspy.from_text(lines, name) if PYSPY.search(data[:HEAD]) else faulthandler.from_text(lines, name)
    if not found:
        raise StackError("holds no stack that could be read")
    return found


def _named(stack: Stack, name: str, processes: int) -> int | None:
    """The rank by the process's arguments, else by the file's name where it holds one process."""
    if told := _RANK_IN_COMMAND.search(stack.command):
        return int(told[1])
    if processes > 1:
        return None
    base = PurePath(name).name
    if named := _RANK_IN_NAME.findall(base) or _RANK_IN_NAME.findall(PurePath(name).parent.name):
        return int(named[-1])
    stem = base.rpartition(".")[0] or base
    last = re.search(r"(?<!\d)(\d{1,4})$", stem)
    return int(last[1]) if last and int(last[1]) != stack.pid else None


def _number(found: list[tuple[str, list[Stack]]], moments: dict[int, list[Stack]], reading: StacksReading) -> None:
    """Processes of which nothing tells the rank count in the order of their numbers, as launchers start them."""
    processes: dict[tuple[str, int], list[Stack]] = {}
    for name, stacks in found:
        for stack in stacks:
            processes.setdefault(("", stack.pid) if stack.pid else (name, 0), []).append(stack)
    free = (number for number in range(len(processes) + len(moments)) if number not in set(moments))
    for (_, pid), stacks in sorted(processes.items(), key=lambda item: (item[0][1], item[0][0])):
        rank = next(free)
        moments[rank] += stacks
        name = stacks[0].path
        reading.says(name, f"does not say which rank process {pid} is: counts as rank {rank} here")


def _rank(number: int, stacks: Sequence[Stack]) -> RankStack | None:
    looks = [stack.main.frames for stack in stacks if stack.main and stack.main.frames]
    stand = stand_of(looks[-1]) if looks else None
    if stand is None:
        return None
    moved = any(look != looks[0] for look in looks) if len(looks) > 1 else None
    return RankStack(number, stand, looks[-1], moved)


def _source(stack: Stack) -> Source:
    return Source("stacks", stack.path, stack.line)
