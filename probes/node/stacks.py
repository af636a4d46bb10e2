"""Where the ranks of the job stand: py-spy looks at each several times; what they do tells who is waited for."""

from __future__ import annotations

import ast
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from doctor.facts.model import Fact, Source
from doctor.facts.ranks import names
from probes.files.stacks.doing import stand_of
from probes.files.stacks.facts import facts
from probes.files.stacks.model import Frame, Stack
from probes.files.stacks.verdict import RankStack, verdict
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured
from probes.node.interface.processes import Job, Rank, ranks_here
from probes.node.interface.py_spy import INSTALL, NoStackError, PySpy, find
from probes.node.job import logs_of

SPEC = ProbeSpec(
    "stacks",
    "where each rank of the job stands, by py-spy, which does not stop it: who is waited for",
    ("stack.*",),
    seconds=3.0,
    privilege="the job's user or root, and the right to look into processes",
    native=16.0,
    watches=True,
)

LOOKS, SPAN = 3, 1.8
"""How often a rank is looked at, and the usual seconds from the first look to the last: a step of the job that is
shorter is seen to pass."""
ONE, NATIVE = 1.5, 12.0
"""Seconds that py-spy is given for a rank on a node that is not busy; with the frames of libraries, whose symbols it
reads first."""
LEAST, REST = 0.6, 0.9
"""The least of these seconds on a node that is busy, and what is kept for the last look and the verdict."""
LATE = 0.4
"""Seconds by which a look after the second may be late; then none is begun."""
AT_ONCE = 8
SETTLED = 5.0
"""Seconds after its start from which a rank without a process counts as gone."""
LARGEST_SOURCE = 1 << 20

Looked: TypeAlias = "Stack | NoStackError"


@dataclass(slots=True)
class Watched:
    """What was seen of one rank: its stack at each look, how often it had waited at the first and the last one."""

    rank: Rank
    looks: list[tuple[Frame, ...]] = field(default_factory=list)
    switches: list[int] = field(default_factory=list)
    reason: str = ""
    instead: str = ""

    def saw(self, found: Looked) -> None:
        if isinstance(found, NoStackError):
            self.reason, self.instead = str(found), found.instead
        elif found.main is not None and found.main.frames:
            self.looks.append(found.main.frames)

    def stack(self, handler: Callable[[Frame], bool]) -> RankStack | None:
        stand = stand_of(self.looks[-1], handler) if self.looks else None
        if stand is None:
            return None
        python = [tuple(frame for frame in look if not frame.native) for look in self.looks]
        moved = any(look != python[0] for look in python) if len(python) > 1 else None
        waited = self.switches[-1] - self.switches[0] if len(self.switches) > 1 else None
        return RankStack(self.rank.rank, stand, self.looks[-1], moved, waited)


def probe(host: Host) -> Iterator[Fact]:
    began = time.monotonic()
    try:
        ranks = ranks_here(host)
    except OSError:
        return  # the probe `job` says why
    job = next((job for job in ranks.jobs if job.ranks == ranks.job), None)
    if job is None:
        return
    spy = find(host, job.ranks[0])
    if spy is None:
        yield failed("stack.frames", INSTALL, host.node)
        return
    watched = [Watched(rank) for rank in job.ranks]
    room = SPEC.seconds * host.crowding() - REST - (time.monotonic() - began)
    watched_for = _watch(host, spy, watched, max(min(SPAN, room), LEAST) if host.window <= SPAN else host.window)
    yield from _judged(host, job, watched, watched_for)
    if (silent := _silence(host, job)) is not None:
        yield measured("stack.silent", silent, "job", "/proc", f"no log of the job was written for {silent:.0f} s")


def _watch(host: Host, spy: PySpy, watched: Sequence[Watched], span: float) -> float:
    """Looks at all ranks several times within `span` seconds, and twice however late that is, since one look does not
    tell who stands from who runs; the time between the first and the last look."""
    first = last = time.monotonic()
    one_rank, native = ONE * host.crowding(), NATIVE * host.crowding()
    with ThreadPoolExecutor(min(len(watched), AT_ONCE)) as pool:
        for number in range(LOOKS):
            if number:
                due = first + span * number / (LOOKS - 1)
                time.sleep(max(due - time.monotonic(), 0.0))
                if number > 1 and time.monotonic() > due + LATE:
                    break
                last = time.monotonic()
                _count(host, watched)
            for one, found in zip(watched, pool.map(lambda w: _look(spy, w.rank, one_rank), watched), strict=True):
                one.saw(found)
            if not number:
                _count(host, watched)
            if not any(one.looks for one in watched):
                break  # what is refused once is refused again
        if host.native:
            for one, found in zip(watched, pool.map(lambda w: _look(spy, w.rank, native, True), watched), strict=True):
                one.saw(found)
    return last - first


def _look(spy: PySpy, rank: Rank, seconds: float, native: bool = False) -> Looked:
    try:
        return spy.stack(rank, seconds, native)
    except NoStackError as error:
        return error


def _count(host: Host, watched: Sequence[Watched]) -> None:
    """How often each main thread gave up its processor to wait for something (proc(5): voluntary_ctxt_switches)."""
    for one in watched:
        with suppress(OSError, ValueError):
            for line in host.text(f"{one.rank.proc}/status").splitlines():
                name, _, value = line.partition(":")
                if name == "voluntary_ctxt_switches":
                    one.switches.append(int(value))


def _judged(host: Host, job: Job, watched: Sequence[Watched], watched_for: float) -> Iterator[Fact]:
    stacks: list[RankStack] = []
    refused: dict[tuple[str, str], list[Rank]] = defaultdict(list)
    for one in watched:
        stack = one.stack(_handlers(host, one.rank))
        if stack is not None:
            stacks.append(stack)
        else:
            refused[one.reason or "has no main thread that runs Python", one.instead].append(one.rank)
    for (reason, instead), members in refused.items():
        told = f"{names([rank.rank for rank in members])}: {reason}"
        told += f"; run: {instead.replace('PID', str(members[0].pid))}" if instead else ""
        yield failed("stack.frames", told, host.node)
    if host.native and (late := [one for one in watched if one.looks and one.reason]):
        reason = f"{names([one.rank.rank for one in late])}: no frames of libraries: {late[0].reason}"
        yield failed("stack.frames", reason, host.node)
    if not stacks:
        return
    pids = {one.rank.rank: one.rank.pid for one in watched}
    sources = {stack.rank: Source("probe", f"py-spy dump --pid {pids[stack.rank]}") for stack in stacks}
    missing = job.missing if min(_age(host, rank) for rank in job.ranks) > SETTLED else ()
    whole = job.whole and not refused and len(stacks) == job.size
    yield from facts(stacks, verdict(stacks, missing, whole), sources, watched_for)


def _age(host: Host, rank: Rank) -> float:
    """Seconds since the process began; none pass where that cannot be read."""
    with suppress(OSError, ValueError, LookupError):
        return float(host.text("/proc/uptime").split()[0]) - rank.began / os.sysconf("SC_CLK_TCK")
    return 0.0


def _silence(host: Host, job: Job) -> float | None:
    newest: float | None = None
    for path in logs_of(host, job):
        with suppress(OSError):
            newest = max(newest or 0.0, os.stat(host.path(path)).st_mtime)
    return None if newest is None else max(host.clock() - newest, 0.0)


def _handlers(host: Host, rank: Rank) -> Callable[[Frame], bool]:
    """Tells by its source, as the rank sees it, whether a frame stands in an exception handler."""

    @cache
    def spans(path: str) -> tuple[tuple[int, int], ...]:
        try:
            tree = ast.parse(_source(host, rank, path))
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return ()
        found = (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.body)
        return tuple((node.body[0].lineno, node.end_lineno or node.lineno) for node in found)

    return lambda frame: any(first <= frame.line <= last for first, last in spans(frame.path))


def _source(host: Host, rank: Rank, path: str) -> bytes:
    place = host.path(f"{rank.proc}/root{path}" if path.startswith("/") else f"{rank.proc}/cwd/{path}")
    if place.stat().st_size > LARGEST_SOURCE:
        raise ValueError("too large for a program")
    return place.read_bytes()
