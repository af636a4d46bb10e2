"""From the document in a file to a dump: every version from 2.0 on, and newer ones as far as they look alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from zlib import crc32

from probes.files.flight_recorder import values
from probes.files.flight_recorder.model import SYNCHRONOUS, Dump, Exchange, Group, Lane, Record, Shape

KNOWN = (2, 10)
MOST_PENDING = 20_000
MOST_SHAPES = 4096
P2P = ("send", "recv")


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
    for name, told in config.items() if isinstance(config, dict) else ():
        if isinstance(told, dict) and (ranks := values.ranks(told.get("ranks"))):
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


class _Reader:
    """Goes over the entries of one dump once."""

    def __init__(self, dump: Dump, groups: dict[str, Group]) -> None:
        self.dump, self.groups = dump, groups
        self.ids: dict[int, Group] = {}
        self._group_of: dict[Any, Group] = {}
        self._shape_of: dict[Any, int] = {}
        self._site_of: dict[str, int] = {}
        self._names: dict[str, tuple[str, str, str, int]] = {}
        self._finished: dict[tuple[Group, str], int] = {}
        self._closed: dict[tuple[Group, int], int] = {}

    def read(self, entries: list[dict[str, Any]]) -> None:
        dump = self.dump
        dump.entries = len(entries)
        entries.sort(key=lambda entry: values.whole(entry.get("record_id")))
        unfinished: list[Record] = []
        backends: set[str] = set()
        before: tuple[str, str] | None = None
        ways: dict[int, tuple[tuple[str, str] | None, tuple[str, str]]] = {}
        ended: dict[Group, tuple[int, Group, int, int, int, str, str]] = {}
        whole = values.whole
        for entry in entries:
            get = entry.get
            backend, op, way, peer = self._call(get("profiling_name"))
            backends.add(backend)
            group = self._group(entry)
            p2p = bool(get("is_p2p")) or op in P2P
            shape = self._shape(entry, op)
            frame = values.user_frame(get("frames"))
            number = whole(get("record_id"))
            batch = whole(get("collective_seq_id", get("seq_id")))
            other = whole(get("p2p_seq_id"), -1)
            seq = other if p2p and other >= 0 else batch
            completed = whole(get("time_discovered_completed_ns"))
            dump.newest = max(dump.newest, created := whole(get("time_created_ns")), completed)
            if p2p or other > 0:
                dump.p2p.add(group)
            if not p2p and op != "coalesced":
                self._collective(group, seq, shape, frame)
            if get("state") == "completed" or completed > 0:
                self._finished[group, f"{way}{peer}" if p2p else ""] = number
                if op == "coalesced":
                    self._closed[group, batch] = number
            elif (retired := bool(get("retired"))) and backend in SYNCHRONOUS:
                ended[group] = (number, group, seq, shape, created, frame, backend)
            elif len(unfinished) < MOST_PENDING:
                far = group.ranks[peer] if 0 <= peer < len(group.ranks) else peer
                state = values.text(get("state")) or "scheduled"
                call = (number, group, seq, dump.shapes[shape], state, created, frame)
                unfinished.append(Record(*call, p2p, way == "->", far, retired, batch, backend))
                ways[number] = (before, (group.desc or group.name, op))
            step = (group.desc or group.name, op)
            if before is not None:
                dump.steps[before, step] = dump.steps.get((before, step), 0) + 1
            before = step
        if entries:
            dump.last, dump.frame = f"{op} {seq} in {group.title}", frame
        dump.sites = list(self._site_of)
        dump.backends = frozenset(backends)
        dump.pending = [record for record in unfinished if not self._over(record, unfinished)]
        for number, group, seq, shape, created, frame, backend in ended.values():
            call = (number, group, seq, dump.shapes[shape], "retired", created, frame)
            dump.ended[group] = Record(*call, backend=backend)
        came, to = ways[dump.pending[0].id] if dump.pending else (None, None)
        dump.way = (came, to) if came and to else None
        for group, lane in dump.lanes.items():
            open_ = (r.seq for r in dump.pending if r.group == group and not r.p2p)
            lane.done = min(open_, default=lane.enqueued + 1) - 1

    def _over(self, record: Record, unfinished: list[Record]) -> bool:
        """Was it finished although it does not say so? Parts of a batch have no state of their own, nor has a batch
        that stands beside its parts a meaning of its own; and a stream runs its calls in order."""
        if self._closed.get((record.group, record.batch), -1) > record.id:
            return True
        if record.op == "coalesced":
            return any(r.group == record.group and r.batch == record.batch and r is not record for r in unfinished)
        ranks = record.group.ranks
        index = ranks.index(record.peer) if record.peer in ranks else record.peer
        track = f"{'->' if record.sends else '<-'}{index}" if record.p2p else ""
        return self._finished.get((record.group, track), -1) > record.id

    def _collective(self, group: Group, seq: int, shape: int, frame: str) -> None:
        lane = self.dump.lanes.get(group)
        if lane is None:
            lane = self.dump.lanes[group] = Lane()
        if seq <= lane.enqueued and lane.seqs:
            return  # a further part of one coalesced call
        lane.seqs.append(seq)
        lane.shapes.append(shape)
        lane.sites.append(self._site_of.setdefault(frame, len(self._site_of)))
        lane.enqueued = seq
        told = self.dump.shapes[shape]
        if told.op.startswith(("all_to_all", "alltoall")):
            self.dump.exchanges.append(Exchange(group, seq, told.elements_in, told.elements_out))

    def _call(self, name: Any) -> tuple[str, str, str, int]:
        key = name if isinstance(name, str) else ""
        call = self._names.get(key)
        if call is None:
            call = self._names[key] = values.call(key)
        return call

    def _group(self, entry: dict[str, Any]) -> Group:
        told = entry.get("process_group")
        pair = told if isinstance(told, list | tuple) else (entry.get("pg_name", entry.get("pg_id")),)
        name, desc = (pair[0] if pair else ""), (pair[1] if len(pair) > 1 else "")
        if not (isinstance(name, str) and isinstance(desc, str)):
            name, desc = values.text(name), values.text(desc)
        group = self._group_of.get((name, desc))
        if group is None:
            label = values.text(name)
            group = self._group_of[name, desc] = self.groups.get(label) or Group(label, values.text(desc))
            self.ids[values.whole(entry.get("pg_id"), -1)] = group
        return group

    def _shape(self, entry: dict[str, Any], op: str) -> int:
        """The number of the shape in the dump's table: the same on every rank for the same shape."""
        sizes = entry.get("input_sizes"), entry.get("output_sizes")
        dtypes = _names(entry.get("input_dtypes")), _names(entry.get("output_dtypes"))
        key = (op, _hashable(sizes[0]), _hashable(sizes[1]), dtypes)
        number = self._shape_of.get(key)
        if number is None:
            shape = Shape(
                op,
                "+".join(dict.fromkeys((*dtypes[0], *dtypes[1]))),
                values.elements(sizes[0]),
                values.elements(sizes[1]),
            )
            number = crc32(f"{shape.op}|{shape.dtypes}|{shape.elements_in}|{shape.elements_out}".encode())
            self._shape_of[key] = number
            self.dump.shapes[number] = shape
        return number


def _names(kinds: Any) -> tuple[str, ...]:
    """The types of the tensors, each once."""
    if not isinstance(kinds, list | tuple):
        return ()
    if len(kinds) == 1 and isinstance(kinds[0], str):
        return (kinds[0][: values.LONGEST],)
    return tuple(dict.fromkeys([values.text(kind) for kind in kinds[:MOST_SHAPES]]))[:8]


def _hashable(sizes: Any) -> Any:
    """The sizes as a key; anything unlike a list of shapes is looked at no further, so that none can be endless."""
    if not isinstance(sizes, list | tuple) or len(sizes) > MOST_SHAPES:
        return values.elements(sizes)
    return tuple([_extents(shape) for shape in sizes])


def _extents(shape: Any) -> tuple[int, ...] | None:
    if not isinstance(shape, list | tuple):
        return None
    for extent in shape:
        if type(extent) is not int:
            return None
    return tuple(shape)
