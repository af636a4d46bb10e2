"""Signs of life and of decline of a job that is watched, from the events of its logs as they come."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from doctor.facts.model import Event, Fact
from doctor.facts.vitals import tell
from doctor.facts.vitals.pulse import PAUSE, allowed
from doctor.facts.vitals.stream import OF_INTEREST, Stream
from doctor.facts.vitals.tell import MOST_RANKS, fact

MOST_STREAMS = 4096
"""Logs that are remembered; beyond them the one that was not heard of for longest is forgotten."""
SURE_BEHIND = 10
"""Steps that the others must be ahead before a rank that prints no more is told to be silent while they go on."""
SHORTEST = 5.0
"""Seconds of silence from which it is told which ranks are behind: before, lines are still on their way."""
NO_TIMEOUT = 600.0
"""Seconds: the default of NCCL process groups (torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp), for a rank alone."""


class Vitals:
    """What is known of every log that is followed. The clock is passed in; memory does not grow with time.

    Times are seconds since the epoch. What logs say of a failure is for the rules; this tells what nobody says: that no
    step comes any more, and that steps, memory, gradients are no longer what they were.
    """

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str, int | None], Stream] = {}
        self._failed: dict[str, float] = {}
        self._slow: dict[str, int | None] = {}

    def see(self, events: Iterable[Event], at: float) -> None:
        """Take note of `events`, which were read at `at`."""
        for event in events:
            if event.fields.get("symptom") == "fatal":
                self._failed[event.run] = at
            if event.name not in OF_INTEREST:
                continue
            key = (event.run, event.source.path, event.rank)
            stream = self._streams.get(key)
            if stream is None:
                self._make_room()
                stream = self._streams[key] = Stream(event.run, event.source.path, event.rank, at)
            stream.take(event, at)

    def sudden(self) -> bool:
        """Has a rank become far slower than the others since this was asked last? What tells of it need not wait."""
        runs: dict[str, list[Stream]] = defaultdict(list)
        for stream in self._streams.values():
            runs[stream.run].append(stream)
        before, self._slow = self._slow, {run: tell.sudden(streams) for run, streams in runs.items()}
        return any(rank is not None and rank != before.get(run) for run, rank in self._slow.items())

    def _make_room(self) -> None:
        if len(self._streams) >= MOST_STREAMS:
            oldest = min(self._streams, key=lambda key: self._streams[key].pulse.alive)
            del self._streams[oldest]

    def facts(self, now: float) -> Iterable[Fact]:
        """The `live.*` facts as they stand at `now`."""
        yield fact("live.watching", True, "job")
        runs: dict[str, list[Stream]] = defaultdict(list)
        for stream in self._streams.values():
            runs[stream.run].append(stream)
        for run, streams in runs.items():
            entity = "job" if len(runs) == 1 else f"run:{run}"
            told = [stream for stream in streams if stream.pulse.beats]
            if told:
                yield from self._run(run, entity, told, now, self._superseded(streams, runs))

    def _superseded(self, streams: Sequence[Stream], runs: dict[str, list[Stream]]) -> bool:
        """Did another attempt begin after the last line of this one?"""
        last = max(stream.pulse.alive for stream in streams)
        own = streams[0].run
        return any(run != own and min(s.first for s in others) > last for run, others in runs.items())

    def _run(self, run: str, entity: str, streams: Sequence[Stream], now: float, over: bool) -> Iterator[Fact]:
        main = max(streams, key=lambda stream: (stream.pulse.beats, -(stream.rank or 0)))
        yield from _standing(entity, main, streams)
        yield from tell.trends(entity, main, tell.timing(streams))
        yield from tell.memory(entity, streams)
        yield from tell.straggler(streams)
        yield from tell.lockstep(entity, streams)
        stepping = [stream for stream in streams if stream.stepping]
        if over or not stepping or any(stream.over for stream in streams):
            return
        leader = max(stepping, key=lambda stream: stream.pulse.alive)
        # Whoever waits for a rank that failed may get one step further.
        failed = self._failed.get(run)
        if failed is not None and failed > leader.pulse.alive - max(PAUSE * leader.pulse.usual, SHORTEST):
            return
        yield from _silence(entity, leader, stepping, now)


def _standing(entity: str, main: Stream, streams: Sequence[Stream]) -> Iterator[Fact]:
    """How far the run is, for a line of status."""
    steps = [stream.step for stream in streams if stream.step is not None]
    if steps:
        yield fact("live.step", max(steps), entity, [main.last])
    if (seconds := main.trends.pace.now or main.trends.seconds or main.trends.clock.now) is not None:
        yield fact("live.step_time", seconds, entity, [main.last])
    if main.mfu is not None:
        yield fact("live.mfu", main.mfu, entity, [main.last])
    ranks = {stream.rank for stream in streams if stream.rank is not None}
    yield fact("live.ranks", max(len(ranks), 1), entity)


def _silence(entity: str, leader: Stream, stepping: Sequence[Stream], now: float) -> Iterator[Fact]:
    pulse = leader.pulse
    silence = max(now - pulse.alive, 0.0)
    yield fact("live.silence", round(silence, 1), entity, [leader.last])
    yield fact("live.step_gap", pulse.usual, entity, [leader.last])
    yield fact("live.longest_pause", pulse.longest, entity, [leader.last])
    yield fact("live.silent_since", pulse.alive, entity, [leader.last])
    if pulse.phase:
        yield fact("live.phase", pulse.phase, entity, [leader.last])
    if silence > max(PAUSE * pulse.usual, SHORTEST):
        yield from _behind(entity, stepping)
    else:
        yield from _alone(leader, stepping, now)


def _behind(entity: str, stepping: Sequence[Stream]) -> Iterator[Fact]:
    """Nobody gets on: who printed fewer steps than the others? Those stand in what the others wait for."""
    known = {stream.rank: stream for stream in stepping if stream.rank is not None and stream.step is not None}
    if len(known) < 2:
        return
    furthest = max(stream.step or 0 for stream in known.values())
    lasts = {stream.last.text for stream in known.values() if stream.step == furthest and stream.last}
    behind = sorted(
        rank
        for rank, stream in known.items()
        if rank is not None and (stream.step or 0) < furthest and not _glued(rank, lasts)
    )
    # Ranks that print every tenth step are behind for another reason, and so is a half of all ranks.
    if behind and 2 * len(behind) < len(known):
        sources = [known[rank].last for rank in behind[:MOST_RANKS]]
        yield fact("live.behind_ranks", tuple(behind[:MOST_RANKS]), entity, sources)
        for rank in behind[:MOST_RANKS]:
            yield fact("live.behind", True, f"rank:{rank}", [known[rank].last])


def _glued(rank: int, lasts: Iterable[str]) -> bool:
    """Does the last line of a rank that is ahead go on with what this rank printed? Ranks that write to one file at a
    time run together now and then, and their line is counted as one."""
    mark = re.compile(rf".\[(?:rank|default){rank}\]:")
    return any(mark.search(text) for text in lasts)


def _alone(leader: Stream, stepping: Sequence[Stream], now: float) -> Iterator[Fact]:
    """Ranks that print no more while the others go on."""
    silent = 0
    for stream in stepping:
        pulse = stream.pulse
        quiet = now - pulse.alive
        if stream.rank is None or leader.step is None or stream.step is None or silent >= MOST_RANKS:
            continue
        if leader.step - stream.step < SURE_BEHIND:
            continue
        if quiet > allowed(pulse.usual, pulse.longest, NO_TIMEOUT):
            silent += 1
            yield fact("live.rank_silence", round(quiet, 1), f"rank:{stream.rank}", [stream.last])
