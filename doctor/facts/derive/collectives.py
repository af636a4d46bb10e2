"""Who waits for whom when a collective times out.

Every rank of a process group numbers its collectives. A rank whose watchdog fires has arrived at the collective it
names; a rank that stays silent has not. So, within one group: same number and operation everywhere but one rank
silent - that rank is busy or dead; same number, other operation or size - the ranks run different programs;
different numbers - one of them made more or fewer collectives. The state lines (last enqueued, last completed) say the
same of ranks that only wrote a dump.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore

NEEDS = (
    *("event:torch.watchdog_timeout", "event:torch.watchdog_status", "event:torch.watchdog_group"),
    *("event:torch.store_get_timeout", "event:torch.barrier_timeout", "event:nccl.init_complete"),
    *("event:log.last_line", "config.world_size", "job.world_size_seen"),
)
GIVES = (
    *("hang.timeouts", "hang.world_size", "hang.reporting_ranks", "hang.silent_ranks", "hang.silent_heard"),
    *("hang.all_ranks_report", "hang.only_rank0_silent", "hang.min_seq", "hang.seq_spread", "hang.completed_spread"),
    *("hang.same_seq", "hang.ops", "hang.ops_differ", "hang.numel_differ", "hang.numel_in", "hang.scalar"),
    *("hang.point_to_point", "hang.startup", "hang.early", "hang.timeout", "hang.behind_ranks"),
    *("hang.busy_rank", "hang.awaited", "hang.busy_line", "hang.phase", "hang.groups", "hang.desync"),
)

STARTUP_SEQ = 10
"""Barriers before training (main_process_first, model and data set-up) are among the first ten collectives."""
REPORTED = "torch.worker_failed"
"""What the launcher says of a rank in the end: no word of the rank's own."""
DEFAULT_GROUPS = ("", "0", "default_pg")
POINT_TO_POINT = ("SEND", "RECV", "RECVANYSOURCE", "COALESCED", "SENDRECV")
MOST_RANKS = 1 << 20
SHOWN = 8
BEFORE_TRAINING = ("start", "launch", "init")
"""Phases of a rank whose own log tells nothing of the training."""
ALONE = ("save", "eval", "load")
"""Phases in which one rank does more than the others, likeliest first."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One rank waiting in one collective; what its version of PyTorch does not print is None."""

    rank: int | None
    group: str
    seq: int | None
    op: str
    numel: int | None
    timeout: float | None
    event: Event


def derive(store: FactStore) -> Iterator[Fact]:
    """The facts about a hang, for each run that has one."""
    runs: dict[str, list[Event]] = defaultdict(list)
    for name in ("torch.watchdog_timeout", "torch.store_get_timeout", "torch.barrier_timeout"):
        for event in store.events(name):
            runs[event.run].append(event)
    for run, events in runs.items():
        entity = run if run == "job" or run.startswith("run:") else f"run:{run}"
        yield from _Hang(store, run, events).facts(entity)


class _Hang:
    def __init__(self, store: FactStore, run: str, events: Sequence[Event]) -> None:
        self.store, self.run = store, run
        self.status = [e for e in store.events("torch.watchdog_status") if e.run == run]
        self.all_waits = _waits([e for e in events if e.name != "torch.barrier_timeout"], self._groups())
        self.named = {r for e in events if e.name == "torch.barrier_timeout" for r in _missing(e)}
        self.events = events
        self.groups = {wait.group for wait in self.all_waits}
        self.waits = self._main_group()
        self.reporting = sorted(_ranks(w.rank for w in self.all_waits) - self.named)
        ranked = [e for e in store.events() if e.run == run]
        self.heard = _ranks(e.rank for e in ranked if e.name != REPORTED)
        self.world = self._world()
        numbered = range(max(self.world or 0, max(self.reporting, default=-1) + 1))
        absent = sorted({*numbered, *_ranks(e.rank for e in ranked), *self.named} - set(self.reporting))
        # with the log of a single rank at hand, the silence of the others means nothing
        decided = len(self.reporting) > 1 or bool(self.named) or any(rank in self.heard for rank in absent)
        self.silent = absent if decided else []
        self.decided = decided

    def facts(self, entity: str) -> Iterator[Fact]:
        sources = [wait.event.source for wait in self.waits] or [event.source for event in self.events]
        for name, value, because in self._values():
            if value is not None and value != ():
                shown = tuple(dict.fromkeys(because or sources))[:SHOWN]
                yield Fact(name, value, entity, Source("derived"), quality=Quality.DERIVED, because=shown)
        if (busy := self._busy_rank()) is not None:
            shown = tuple(dict.fromkeys(sources))[:SHOWN]
            yield Fact("hang.awaited", True, f"rank:{busy}", Source("derived"), quality=Quality.DERIVED, because=shown)

    def _values(self) -> Iterator[tuple[str, Value | None, list[Source]]]:
        waits, none = self.waits, list[Source]()
        seqs = [w.seq for w in waits if w.seq is not None]
        numels = [w.numel for w in waits if w.numel is not None]
        ops = list(dict.fromkeys(w.op for w in waits if w.op))
        # pipeline neighbours wait in a send and a receive of their own, each pair with its own numbers
        pairwise = bool(ops) and all(op in POINT_TO_POINT for op in ops)
        yield "hang.timeouts", max(len(self.reporting), 1), none
        yield "hang.groups", len(self.groups) or None, none
        yield "hang.world_size", self.world, none
        yield "hang.reporting_ranks", tuple(self.reporting), none
        yield "hang.silent_ranks", tuple(self.silent), none
        yield "hang.silent_heard", tuple(r for r in self.silent if r in self.heard), none
        if self.decided:
            yield "hang.all_ranks_report", not self.silent if self.silent or self.world else None, none
            others = any(rank in self.heard for rank in self.silent if rank)
            yield "hang.only_rank0_silent", 0 in self.silent and not others, none
        yield "hang.min_seq", min(seqs, default=None), none
        yield "hang.ops", tuple(ops), none
        if len({w.rank for w in waits}) > 1:
            spread = max(seqs) - min(seqs) if seqs else None
            spread = 0 if pairwise and spread is not None else spread
            differ = len(ops) > 1 and not pairwise
            yield "hang.seq_spread", spread, none
            yield "hang.same_seq", None if spread is None else spread == 0, none
            yield "hang.ops_differ", differ if ops else None, none
            yield "hang.numel_differ", _sizes_differ(waits) if numels else None, none
            if ops or spread is not None:
                yield "hang.desync", differ or bool(spread), none
        yield "hang.numel_in", max(numels, default=None), none
        yield "hang.scalar", max(numels) <= 1 if numels else None, none
        yield "hang.point_to_point", any(op in POINT_TO_POINT for op in ops) if ops else None, none
        early = min(seqs) <= STARTUP_SEQ if seqs else None
        yield "hang.early", early, none
        yield "hang.startup", None if early is None else early and max(numels, default=0) <= 1, none
        yield "hang.timeout", min((w.timeout for w in waits if w.timeout), default=None), none
        yield from self._progress()
        yield from self._busy()

    def _progress(self) -> Iterator[tuple[str, Value | None, list[Source]]]:
        """How far each rank of the group got, from the status lines."""
        main = self.waits[0].group if self.waits else ""
        done: dict[int, tuple[int, Source]] = {}
        for event in self.status:
            rank, completed = _int(event, "rank", event.rank), _int(event, "completed")
            if rank is not None and completed is not None and completed >= 0 and _group(event) == main:
                done.setdefault(rank, (completed, event.source))
        if len(done) < 2:
            return
        least, most = min(c for c, _ in done.values()), max(c for c, _ in done.values())
        sources = [source for _, source in done.values()]
        yield "hang.completed_spread", most - least, sources
        if most > least:
            behind = sorted(rank for rank, (completed, _) in done.items() if completed == least)
            yield "hang.behind_ranks", tuple(behind), sources

    def _busy(self) -> Iterator[tuple[str, Value | None, list[Source]]]:
        """The rank the others wait for, its last line, and the phase in which the wait began."""
        busy = self._busy_rank()
        yield "hang.busy_rank", busy, []
        own = [e for e in self.store.events("log.last_line") if e.run == self.run and e.rank == busy]
        first = min(self.events, key=lambda e: (e.time is None, e.time or 0.0, e.order))
        # many programs tell of a save or an evaluation on one rank alone: its log says in what the others waited
        alone = next((e for p in ALONE for e in self.events if e.phase == p), None)
        quiet = bool(own) and own[-1].phase in BEFORE_TRAINING and alone is not None
        if busy is not None and own and not quiet and not self._shared_log(own[-1].source.path):
            yield "hang.busy_line", own[-1].source.text, [own[-1].source]
            yield "hang.phase", own[-1].phase, [own[-1].source]
            return
        teller = alone or first
        before = [e for e in self.store.events() if e.source.path == teller.source.path and e.order < teller.order]
        last = max((e for e in before if not e.name.startswith("torch.")), key=lambda e: e.order, default=None)
        if last is not None:
            yield "hang.busy_line", last.source.text, [last.source]
        yield "hang.phase", teller.phase, [e.source for e in (last, teller) if e is not None]

    def _busy_rank(self) -> int | None:
        if self.named:
            return min(self.named)
        if not self.silent:
            return None
        idle = [r for r in map(_idle_rank, self.status) if r is not None and r in self.silent]
        return min(idle or [r for r in self.silent if r in self.heard] or self.silent)

    def _shared_log(self, path: str) -> bool:
        return len({e.rank for e in self.store.events() if e.source.path == path and e.rank is not None}) > 1

    def _groups(self) -> dict[tuple[int, int], str]:
        """Process group by rank and sequence number, from the lines that name it."""
        lines = [*self.store.events("torch.watchdog_group"), *self.status]
        found: dict[tuple[int, int], str] = {}
        for event in lines:
            rank, seq = _int(event, "rank", event.rank), _int(event, "seq")
            if event.run == self.run and rank is not None and seq is not None:
                found.setdefault((rank, seq), _group(event))
        return found

    def _main_group(self) -> list[Wait]:
        """The waits of the group in which most ranks wait; the first such group in the order of the log."""
        sizes: dict[str, set[int | None]] = defaultdict(set)
        for wait in self.all_waits:
            sizes[wait.group].add(wait.rank)
        chosen = max(sizes, key=lambda group: len(sizes[group]), default="")
        return [wait for wait in self.all_waits if wait.group == chosen]

    def _world(self) -> int | None:
        """Ranks of the job: NCCL's own count, then what the configuration or the logs state."""
        counts = [_int(e, "nranks") for e in self.store.events("nccl.init_complete") if e.run == self.run]
        stated = [self.store.get(name, "job") for name in ("config.world_size", "job.world_size_seen")]
        counts += [fact.value for fact in stated if fact is not None and isinstance(fact.value, int)]
        return max((n for n in counts if n is not None and 0 < n < MOST_RANKS), default=None)


def _ranks(numbers: Iterable[int | None]) -> set[int]:
    """Those that may be ranks: a garbled line may hold any number, and as many ranks are not to be made of it."""
    return {number for number in numbers if number is not None and 0 <= number < MOST_RANKS}


def _waits(events: Iterable[Event], groups: dict[tuple[int, int], str]) -> list[Wait]:
    """The first wait of each rank in each group: the same line is often printed three times."""
    found: dict[tuple[int | None, str], Wait] = {}
    for event in events:
        rank, seq = _int(event, "rank", event.rank), _int(event, "seq")
        if event.name == "torch.store_get_timeout":
            seq = 0
        group = groups.get((rank, seq), "") if rank is not None and seq is not None else ""
        op, timeout = event.fields.get("op"), _int(event, "timeout_ms")
        seconds = timeout / 1000 if timeout else None
        wait = Wait(rank, group, seq, op if isinstance(op, str) else "", _int(event, "numel_in"), seconds, event)
        known = found.get((rank, group))
        if known is None or (known.seq is None and seq is not None):
            found[(rank, group)] = wait
    return list(found.values())


def _sizes_differ(waits: Iterable[Wait]) -> bool:
    """Does one operation, at one sequence number, have several sizes?"""
    sizes: dict[tuple[int | None, str], set[int]] = defaultdict(set)
    for wait in waits:
        if wait.numel is not None:
            sizes[(wait.seq, wait.op)].add(wait.numel)
    return any(len(found) > 1 for found in sizes.values())


def _group(event: Event) -> str:
    """The identity of a process group over ranks: its GUID, else its number; the default group is the empty name."""
    name = event.fields.get("guid") or event.fields.get("pg") or ""
    return "" if name in DEFAULT_GROUPS else str(name)


def _idle_rank(status: Event) -> int | None:
    """The rank of a status line whose rank has nothing pending: it completed all that it enqueued."""
    enqueued, completed = _int(status, "enqueued"), _int(status, "completed")
    return _int(status, "rank", status.rank) if enqueued is not None and enqueued == completed else None


def _missing(event: Event) -> list[int]:
    """Ranks that a monitored barrier names."""
    one, several = _int(event, "missing_rank"), event.fields.get("missing_ranks")
    listed = [int(part) for part in str(several or "").replace(",", " ").split() if part.isdigit()]
    return sorted(_ranks([one, *listed]))


def _int(event: Event, name: str, default: int | None = None) -> int | None:
    value = event.fields.get(name, default)
    return int(value) if isinstance(value, int | float) else default
