"""The node this runs on: its probes run side by side, and what they find is judged like files that were given."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from doctor.facts.model import Fact, Quality
from probes.node.interface.host import WINDOW, Host, this_host
from probes.node.interface.model import Place, Probe, ProbeSpec, Text, failed
from probes.node.interface.processes import ranks_here
from probes.node.interface.registry import probes

if TYPE_CHECKING:  # readers and the engine are imported when there is something to read: a screen can be there before
    from doctor.rulebase.load import Loaded
    from doctor.session.analyze import Material
    from doctor.session.contents import File
    from doctor.session.notes import Note
    from doctor.session.report import Input

__all__ = [
    "WINDOW",
    "Host",
    "JobHere",
    "Outcome",
    "ProbeSpec",
    "jobs_on",
    "known_probes",
    "look",
    "read_node",
    "run_side_by_side",
    "this_host",
]

MOST_GIVEN = 50_000
"""Facts and files one probe may give."""

TICK = 0.1
"""Seconds after which it is looked again which probes a person wants to wait for no longer."""

Told = Callable[["Outcome"], None]


@dataclass(slots=True)
class Outcome:
    """How a probe went: what it found, how long it took, and whether it came to its end."""

    spec: ProbeSpec
    facts: list[Fact] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def found(self) -> list[Fact]:
        return [fact for fact in self.facts if fact.quality is not Quality.FAILED]

    @property
    def gaps(self) -> list[str]:
        """Why it could not look, each reason once."""
        return list(dict.fromkeys(str(fact.value) for fact in self.facts if fact.quality is Quality.FAILED))


@dataclass(frozen=True, slots=True)
class JobHere:
    """A job that runs on the node; `chosen` says whether it is the one that is looked at."""

    name: str
    ranks: int
    chosen: bool


def jobs_on(host: Host) -> list[JobHere]:
    """The jobs of `host`, those with most ranks there first."""
    try:
        found = ranks_here(host)
    except OSError:
        return []
    return [JobHere(job.name, len(job.ranks), job.ranks == found.job) for job in found.jobs]


def known_probes() -> dict[str, ProbeSpec]:
    return {probe.SPEC.name: probe.SPEC for probe in probes()}


def look(
    host: Host, names: Sequence[str] = (), told: Told | None = None, skipped: Container[str] = ()
) -> list[Outcome]:
    """Runs the probes called `names`, or all, at the same time; each has the time its description gives it, or until
    its name is among those `skipped`, which may grow meanwhile.

    A probe that does not end in time or that breaks leaves what it found before, and a failed fact that says so.
    """
    chosen = [probe for probe in probes() if not names or probe.SPEC.name in names]
    return run_side_by_side(chosen, host, told, skipped)


def run_side_by_side(
    chosen: Sequence[Probe], host: Host, told: Told | None = None, skipped: Container[str] = ()
) -> list[Outcome]:
    """How each of the probes went, in their order; `told` hears of each when it has ended."""
    ends: SimpleQueue[None] = SimpleQueue()
    waiting = {number: _Running(probe, host, ends) for number, probe in enumerate(chosen)}
    outcomes: dict[int, Outcome] = {}
    while waiting:
        with suppress(Empty):
            ends.get(timeout=max(min(TICK, *(one.left for one in waiting.values())), 0.0))
        for number, one in list(waiting.items()):
            skip = one.name in skipped
            if one.ended or skip or one.left <= 0:
                del waiting[number]
                outcomes[number] = one.outcome(skip)
                if told is not None:
                    told(outcomes[number])
    return [outcomes[number] for number in range(len(chosen))]


class _Running:
    """A probe at work in a thread of its own, which nothing waits for once its time is over."""

    def __init__(self, probe: Probe, host: Host, ends: SimpleQueue[None]) -> None:
        self._probe, self._host, self._ends = probe, host, ends
        self._seconds = probe.SPEC.time_on(host)
        self.name, self.ended = probe.SPEC.name, False
        self._given: list[Fact | Text | Place] = []
        self._broken = ""
        self._begin = self._end = time.monotonic()
        self._thread = threading.Thread(target=self._work, name=f"probe {probe.SPEC.name}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            for item in self._probe.probe(self._host):
                if len(self._given) == MOST_GIVEN:
                    self._broken = f"gave more than {MOST_GIVEN:,} facts: the rest was left out"
                    break
                self._given.append(item)
        except Exception as error:
            self._broken = f"the probe broke: {type(error).__name__}: {error}"
        self._end = time.monotonic()
        self.ended = True
        self._ends.put(None)

    @property
    def left(self) -> float:
        """Seconds that it still has."""
        return self._begin + self._seconds - time.monotonic()

    def outcome(self, skipped: bool = False) -> Outcome:
        """What it has found so far; all of it where it has ended."""
        spec, late = self._probe.SPEC, not self.ended
        given = list(self._given)
        reason = self._broken
        if late:
            reason = "was skipped" if skipped else f"gave no answer within {self._seconds:g} s"
        if reason:
            given.append(failed(f"probe.{spec.name}", reason, self._host.node))
        return Outcome(
            spec,
            [item for item in given if isinstance(item, Fact)],
            [item for item in given if isinstance(item, Text)],
            [item for item in given if isinstance(item, Place)],
            (time.monotonic() if late else self._end) - self._begin,
        )


def read_node(outcomes: Sequence[Outcome], loaded: Loaded, paths: Sequence[str] = ()) -> Material:
    """What the probes found, the files of the job they found, and the files at and below `paths`, to be judged.

    Raises InputError when one of `paths` does not exist.
    """
    from doctor.session.analyze import Material, configs_of
    from doctor.session.archives import expanded
    from doctor.session.contents import File
    from doctor.session.gather import gather
    from doctor.session.inputs import collect
    from doctor.session.spool import Spool

    with Spool() as spool:
        found = collect(paths)
        notes = list(found.notes)
        texts = [
            File(str(path), text.name, size, text.host)
            for text in (text for outcome in outcomes for text in outcome.texts)
            for path, size, _ in (spool.save([text.text.encode()], spool.room),)
        ]
        taken = {os.path.realpath(path) for path, _ in found.files}
        places = [place for place in _places(outcomes, notes) if os.path.realpath(place.path) not in taken]
        files = expanded([*texts, *(File(path, path, size) for path, size in found.files), *places], spool, notes)
        gathered = gather(files, loaded.base.events)
        facts = [fact for outcome in outcomes for fact in outcome.facts]
        inputs = (*(_input(outcome) for outcome in outcomes), *gathered.inputs)
        configs = configs_of(files, gathered.inputs)
        return Material(loaded, inputs, (*gathered.facts, *facts), tuple(gathered.events), tuple(notes), configs)


def _places(outcomes: Sequence[Outcome], notes: list[Note]) -> Iterator[File]:
    """Files of the job; one that has gone since costs a remark."""
    from doctor.session.contents import File
    from doctor.session.inputs import InputError, collect

    for path in dict.fromkeys(place.path for outcome in outcomes for place in outcome.places):
        try:
            found = collect([path])
        except InputError as error:
            notes.append(error.note)
            continue
        notes += found.notes
        yield from (File(name, name, size) for name, size in found.files)


def _input(outcome: Outcome) -> Input:
    from doctor.session.report import Input

    return Input(f"probe {outcome.spec.name}", "probe", 0)
