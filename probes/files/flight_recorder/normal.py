"""From the document in a file to a dump: every version from 2.0 on, and newer ones as far as they look alike."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any
from zlib import crc32

from probes.files.flight_recorder import values
from probes.files.flight_recorder.model import SYNCHRONOUS, Dump, Group, Lane, Record, Shape, Step
from probes.files.flight_recorder.values import WIDEST

KNOWN = (2, 10)
MOST_PENDING = 20_000
FEW_SHAPES, MOST_SHAPES = 64, 4096
MOST_PLACES = 1 << 21
"""Ranks in all groups of a dump together; one text may stand for the ranks of any number of groups."""
P2P = ("send", "recv")
LAST_SITES = 64
"""Of so many of the last collectives of each group the place in the user's code is kept."""

LATELY, ENOUGH = 8, 3
"""So many steps to the oldest unfinished call are looked at, if there were so many times more before them."""

FIELDS = (
    "profiling_name",
    "process_group",
    "record_id",
    "collective_seq_id",
    "p2p_seq_id",
    "op_id",
    "time_created_ns",
    "time_discovered_completed_ns",
    "state",
    "is_p2p",
    "input_sizes",
    "output_sizes",
    "input_dtypes",
    "output_dtypes",
)
_told = itemgetter(*FIELDS)


class NoDump(Exception):
    """The document has no entries and no process groups."""


def normal(path: str, rank: int, document: Any) -> Dump:
    """The dump in `document`; raises NoDump for anything else."""
    if isinstance(document, list) and any(isinstance(entry, dict) for entry in document):
        document = {"entries": document}
    if not isinstance(document, dict) or not ({"entries", "pg_config", "pg_status"} & document.keys()):
        raise NoDump("holds neither entries nor process groups: it is no flight recorder dump")
    entries = document.get("entries")
    dump = Dump(path, rank, values.text(document.get("version", "")))
    groups = dict(_groups(document.get("pg_config")))
    dump.groups = tuple(groups.values())
    reader = _Reader(dump, groups)
    reader.read([entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list | tuple) else [])
    _status(dump, reader.ids, document.get("pg_status"))
    return dump


def too_new(version: str) -> bool:
    """Newer than the versions whose meaning is known; compared by number, since 2.10 comes after 2.9."""
    parts = tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:2])
    return parts > KNOWN


def _groups(config: Any) -> Iterator[tuple[str, Group]]:
    """Groups by name. Gloo writes one without name or ranks, which tells nothing."""
    left = MOST_PLACES
    for name, told in config.items() if isinstance(config, dict) else ():
        if isinstance(told, dict) and 0 < len(ranks := values.ranks(told.get("ranks"))) <= left:
            left -= len(ranks)
            label = values.text(told.get("name", name)) or values.text(name)
            yield label, Group(label, values.text(told.get("desc", "")), ranks)


def _status(dump: Dump, ids: dict[int, Group], status: Any) -> None:
    """What the watchdog counted. Its numbers of groups are the rank's own; both lists are in the order in which the
    groups were made, which names those without entries."""
    if not isinstance(status, dict):
        return
    counts = {values.whole(key, -1): told for key, told in status.items() if isinstance(told, dict)}
    named = sorted(dump.groups, key=lambda group: (not group.name.isdecimal(), len(group.name), group.name))
    if len(named) == len(counts):
        paired = dict(zip(sorted(counts), named, strict=True))
        if all(paired.get(key) == group for key, group in ids.items()):
            ids = paired
    for key, told in counts.items():
        if key in ids:
            issued = values.whole(told.get("last_enqueued_collective"), -1)
            dump.told[ids[key]] = (issued, values.whole(told.get("last_completed_collective"), -1))


@dataclass(slots=True)
class _Seen:
    """A group while entries are read: its lane if it has collectives, the stacks of the last of these, and the last
    finished call on each of its tracks (collectives, and each way to each peer) and of each batch."""

    group: Group
    lane: Lane | None = None
    stacks: deque[tuple[int, Any]] = field(default_factory=lambda: deque(maxlen=LAST_SITES))
    finished: dict[str, int] = field(default_factory=dict)
    closed: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Called:
    """What the names of a call and its group say; `track` is its way and peer, `step` the number of its kind."""

    backend: str
    op: str
    way: str
    peer: int
    seen: _Seen
    track: str
    step: int


class _Reader:
    """Goes over the entries of one dump once. What is the same for most of them is looked up, not worked out."""

    def __init__(self, dump: Dump, groups: dict[str, Group]) -> None:
        self.dump, self.groups = dump, groups
        self.ids: dict[int, Group] = {}
        self._calls: dict[tuple[str, str, str], _Called] = {}
        self._seen: dict[Group, _Seen] = {}
        self._steps: dict[Step, int] = {}
        self._shape_of: dict[Any, tuple[int, Shape]] = {}
        self._long: dict[int, tuple[Any, int]] = {}
        """Long lists by their identity: a pickle may name one list in each of its entries for two bytes."""

    def read(self, entries: list[dict[str, Any]]) -> None:
        dump = self.dump
        dump.entries = len(entries)
        entries.sort(key=lambda entry: values.whole(entry.get("record_id")))
        unfinished: list[Record] = []
        ways: dict[int, int] = {}
        ended: dict[Group, Record] = {}
        trail: list[int] = []
        newest, whole, known = 0, values.whole, self._calls
        for entry in entries:
            try:
                told = _told(entry)
            except KeyError:  # an early version
                told = tuple(map(entry.get, FIELDS))
            name, pair, id_, batch, other, order, created, completed, state, p2p, *sizes = told
            group_name, desc = pair if (type(pair) is tuple or type(pair) is list) and len(pair) == 2 else (None, None)
            if type(name) is str and type(group_name) is str and type(desc) is str:
                call = known.get((name, group_name, desc)) or self._call(entry)
            else:
                call = self._call(entry)
            op, seen, step = call.op, call.seen, call.step
            number, shape = self._shape(op, *sizes)
            # numbers are nearly always plain ones: asking for that here costs less than a call for each
            if type(id_) is not int or not -WIDEST < id_ < WIDEST:
                id_ = whole(id_)
            if type(batch) is not int or not -WIDEST < batch < WIDEST:
                batch = whole(entry.get("collective_seq_id", entry.get("seq_id")))
            if type(other) is not int or not -WIDEST < other < WIDEST:
                other = whole(other, -1)
            if type(created) is not int or not -WIDEST < created < WIDEST:
                created = whole(created)
            if type(completed) is not int or not -WIDEST < completed < WIDEST:
                completed = whole(completed)
            newest = max(newest, created, completed)
            p2p = bool(p2p) or op in P2P
            seq = other if p2p and other >= 0 else batch
            if p2p or other > 0:
                dump.p2p.add(seen.group)
            elif type(order) is int and order > batch and call.backend in SYNCHRONOUS:
                dump.p2p.add(seen.group)  # sends and receives are counted there, but not recorded
                dump.unrecorded = True
            if not p2p and op != "coalesced":
                lane = seen.lane
                if lane is None:
                    lane = seen.lane = dump.lanes[seen.group] = Lane()
                if seq > lane.enqueued or not lane.seqs:  # else it is a further part of one coalesced call
                    lane.seqs.append(seq)
                    lane.shapes.append(number)
                    lane.enqueued = seq
                    seen.stacks.append((seq, entry))
            if state == "completed" or completed > 0:
                seen.finished[call.track if p2p else ""] = id_
                if op == "coalesced":
                    seen.closed[batch] = id_
            else:
                retired = bool(entry.get("retired"))
                if retired and call.backend in SYNCHRONOUS:
                    frame = values.user_frame(entry.get("frames"))
                    base = (id_, seen.group, seq, shape, "retired", created, frame)
                    ended[seen.group] = Record(*base, backend=call.backend)
                elif len(unfinished) < MOST_PENDING:
                    unfinished.append(self._record(call, entry, (id_, seq, batch), shape, created, p2p))
                    ways[id_] = len(trail)
            trail.append(step)
        if entries:
            dump.last, dump.frame = f"{op} {seq} in {seen.group.title}", values.user_frame(entries[-1].get("frames"))
        kinds = list(self._steps)
        dump.newest, dump.ended = newest, ended
        dump.steps = {(kinds[a], kinds[b]): count for (a, b), count in Counter(pairwise(trail)).items()}
        dump.backends = frozenset(call.backend for call in known.values())
        dump.pending = [record for record in unfinished if not self._over(record, unfinished)]
        if dump.pending and (place := ways[dump.pending[0].id]):
            lately = LATELY if place > ENOUGH * LATELY else 1
            steps = pairwise(trail[max(place - lately, 0) : place + 1])
            dump.ways = tuple((kinds[a], kinds[b]) for a, b in steps)
        for seen in self._seen.values():
            if (lane := seen.lane) is not None:
                lane.ends = "" in seen.finished
                lane.sites = {seq: values.user_frame(entry.get("frames")) for seq, entry in seen.stacks}
                open_ = (r.seq for r in dump.pending if r.group == seen.group and not r.p2p)
                lane.done = min(open_, default=lane.enqueued + 1) - 1

    @staticmethod
    def _record(
        call: _Called, entry: dict[str, Any], numbers: tuple[int, int, int], shape: Shape, created: int, p2p: bool
    ) -> Record:
        """An unfinished call; `numbers` are its own, that in its group and that of its batch."""
        id_, seq, batch = numbers
        group, peer = call.seen.group, call.peer
        far = group.ranks[peer] if 0 <= peer < len(group.ranks) else peer
        state = values.text(entry.get("state")) or "scheduled"
        base = (id_, group, seq, shape, state, created, values.user_frame(entry.get("frames")))
        return Record(*base, p2p, call.way == "->", far, bool(entry.get("retired")), batch, call.backend)

    def _over(self, record: Record, unfinished: list[Record]) -> bool:
        """Was it finished although it does not say so? Parts of a batch have no state of their own, nor has a batch
        that stands beside its parts a meaning of its own; and a stream runs its calls in order."""
        seen = self._seen[record.group]
        if seen.closed.get(record.batch, -1) > record.id:
            return True
        if record.op == "coalesced":
            return any(r.group == record.group and r.batch == record.batch and r is not record for r in unfinished)
        ranks = record.group.ranks
        index = ranks.index(record.peer) if record.peer in ranks else record.peer
        track = f"{'->' if record.sends else '<-'}{index}" if record.p2p else ""
        return seen.finished.get(track, -1) > record.id

    def _call(self, entry: dict[str, Any]) -> _Called:
        """What the entry's names say, which is then known for all entries with these names."""
        name, told = entry.get("profiling_name"), entry.get("process_group")
        pair = told if isinstance(told, list | tuple) else (entry.get("pg_name", entry.get("pg_id")),)
        group_name, desc = (pair[0] if pair else ""), (pair[1] if len(pair) > 1 else "")
        key = _plain(name), _plain(group_name), _plain(desc)
        call = self._calls.get(key)
        if call is None:
            label, about = values.text(key[1]), values.text(key[2])
            group = self.groups.get(label) or Group(label, about)
            seen = self._seen.setdefault(group, _Seen(group))
            self.ids[values.whole(entry.get("pg_id"), -1)] = group
            backend, op, way, peer = values.call(key[0])
            step = self._steps.setdefault((group.desc or group.name, op), len(self._steps))
            call = self._calls[key] = _Called(backend, op, way, peer, seen, f"{way}{peer}", step)
        return call

    def _shape(self, op: str, into: Any, out: Any, kinds: Any, out_kinds: Any) -> tuple[int, Shape]:
        """The shape with its number: the same on every rank for the same shape."""
        dtypes = _names(kinds), _names(out_kinds)
        key = (op, self._sizes(into), self._sizes(out), dtypes)
        found = self._shape_of.get(key)
        if found is None:
            every = "+".join(dict.fromkeys((*dtypes[0], *dtypes[1])))
            shape = Shape(op, every, self._elements(into), self._elements(out))
            number = crc32(f"{shape.op}|{shape.dtypes}|{shape.elements_in}|{shape.elements_out}".encode())
            found = self._shape_of[key] = (number, shape)
            self.dump.shapes[number] = shape
        return found

    def _sizes(self, sizes: Any) -> Any:
        """The sizes as a key."""
        return self._looked_up(sizes)[0] if _is_long(sizes) else _hashable(sizes)

    def _elements(self, sizes: Any) -> int:
        return self._looked_up(sizes)[1] if _is_long(sizes) else values.elements(sizes)

    def _looked_up(self, sizes: Any) -> tuple[Any, int]:
        found = self._long.get(id(sizes))
        if found is None:
            found = self._long[id(sizes)] = (_hashable(sizes), values.elements(sizes))
        return found


def _is_long(sizes: Any) -> bool:
    return (type(sizes) is list or type(sizes) is tuple) and len(sizes) > FEW_SHAPES


def _plain(name: Any) -> str:
    return name if type(name) is str else values.text(name)


def _names(kinds: Any) -> tuple[str, ...]:
    """The types of the tensors, each once."""
    if not isinstance(kinds, list | tuple):
        return ()
    if len(kinds) == 1 and type(kind := kinds[0]) is str:
        return (kind if len(kind) <= values.LONGEST else kind[: values.LONGEST],)
    return tuple(dict.fromkeys([values.text(kind) for kind in kinds[:MOST_SHAPES]]))[:8]


def _hashable(sizes: Any) -> Any:
    """The sizes as a key; anything unlike a list of shapes is looked at no further, so that none can be endless."""
    if (type(sizes) is not list and type(sizes) is not tuple) or len(sizes) > MOST_SHAPES:
        return values.elements(sizes)
    if len(sizes) == 1:
        return _extents(sizes[0])
    return tuple([_extents(shape) for shape in sizes])


def _extents(shape: Any) -> tuple[int, ...] | None:
    if (type(shape) is not list and type(shape) is not tuple) or len(shape) > values.MOST_DIMENSIONS:
        return None
    for extent in shape:
        if type(extent) is not int:
            return None
    return tuple(shape)
