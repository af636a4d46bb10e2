"""What `ncclras` says of a running job: processes that do not answer, and ranks that are behind or have errors.

Text (NCCL 2.24 and later) names outliers below each communicator; JSON (`ncclras -f json`, 2.28.7 and later) has all
ranks with their counts, and what is behind is worked out here (NCCL, src/ras/client_support.cc). A rank that is behind
in one answer may only be late; in two answers with the same counts it stands.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "ncclras"
MARKS = ("Job summary", "Communicators...", '"communicators_count"', "PEER_DEAD", "communicator data from")

_COMM = re.compile(r"^#(?P<name>\d{1,6}-\d{1,6}) \((?P<hash>[0-9a-f]{4,16})\) (?P<kind>[A-Z]+)")
_PROCESS = re.compile(r"^Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,80}) managing GPUs? (?P<gpus>\S.{0,80})")
_MISSING = re.compile(r"^The missing ranks?: (?P<ranks>[\d, -]{1,2000})")
_RANK = re.compile(
    r"^Rank (?P<rank>\d{1,7})(?: has (?:launched up to operation (?P<at>\d{1,18})|(?P<none>not launched any operations)"
    r"|status (?P<status>\w+))| reported (?P<error>.{3,60}?))? -- "
    r"(?:GPU (?P<gpu>[^-]{1,60}?) managed by process (?P<pid>\d{1,10}) on node (?P<host>\S{1,80})|\[)"
)
_COUNTS = re.compile(r"^Communicator ranks have different (?:(?P<what>\w+) operation|collective operation) counts")
_LAUNCHED = re.compile(
    r"^\d{1,7} ranks? have (?:launched up to operation (?P<at>\d{1,18})|not launched any operations)"
)
_REPORTED = re.compile(r"^\d{1,7} ranks? reported (?P<error>.{3,60})$")
_ERRORS = re.compile(r"^(?P<kind>Initialization|Asynchronous) errors? on \d{1,7} ranks?")
_SECTION = re.compile(r"^(?P<kind>INCOMPLETE|DEAD|TIMEOUT)\s*$")
_DEAD_EVENT = re.compile(r"\bPEER_DEAD: (?P<process>Process .{5,160})$")
_BEGIN = re.compile(r"^(?:Job summary|Communicators\.\.\.)")
WELL = (0, 7, None)
"""ncclSuccess and ncclInProgress."""

MOST = 64


@dataclass(slots=True)
class _Answer:
    """One answer of RAS; each entry with the line it stands in."""

    dead: dict[str, Line] = field(default_factory=dict)
    silent: dict[str, Line] = field(default_factory=dict)
    missing: dict[int, Line] = field(default_factory=dict)
    behind: dict[str, Line] = field(default_factory=dict)
    errors: dict[str, Line] = field(default_factory=dict)


def recognise(block: Block) -> list[Block]:
    text = any(
        (line.text.startswith("Communicators...") or _COMM.match(line.text) or _DEAD_EVENT.search(line.text))
        for line in block.lines
    )
    return [block] if text or any('"communicators_count"' in line.text for line in block.lines) else []


def read(section: Block) -> Iterator[Fact]:
    answers = [*_documents(section)] or [*_texts(section)]
    if not answers:
        return
    last = answers[-1]
    for name, found in (
        ("ras.dead", {key: line for answer in answers for key, line in answer.dead.items()}),
        ("ras.unresponsive", last.silent),
        ("ras.behind", last.behind),
        ("ras.errors", last.errors),
    ):
        if found:
            yield section.fact(name, tuple(found)[:MOST], next(iter(found.values())), "job")
    if last.missing:
        ranks = tuple(sorted(last.missing))[:MOST]
        yield section.fact("ras.missing_ranks", ranks, next(iter(last.missing.values())), "job")
    if len(answers) > 1 and last.behind:
        same = tuple(last.behind) == tuple(answers[-2].behind)
        yield section.fact("ras.unchanged", same, next(iter(last.behind.values())), "job")
    if not any((last.dead, last.silent, last.missing, last.behind, last.errors)):
        yield section.fact("ras.well", True, section.lines[0], "job")


def _texts(section: Block) -> Iterator[_Answer]:
    lines: list[Line] = []
    for line in section.lines:
        # The summary and the communicators are one answer: a second heading of the same kind begins the next.
        again = _BEGIN.match(line.text)
        if again and any(old.text.startswith(line.text[:8]) for old in lines):
            yield _text(lines)
            lines = []
        lines.append(line)
    if lines:
        yield _text(lines)


def _text(lines: list[Line]) -> _Answer:
    answer = _Answer()
    kind, what, errors = "", "", ""
    groups: dict[int, list[tuple[str, Line]]] = {}
    at = 0

    def close() -> None:
        """Who is behind: those listed with fewer operations than the most that any rank has launched."""
        top = max(groups, default=0)
        for count, listed in groups.items():
            for who, line in listed if count < top else []:
                answer.behind.setdefault(f"{who}: {what} {count} of {top}".replace("  ", " "), line)
        groups.clear()

    for line in lines:
        text = line.text.strip()
        if event := _DEAD_EVENT.search(text):
            answer.dead.setdefault(event["process"], line)
        elif header := _SECTION.match(text):
            close()
            kind = header["kind"]
        elif comm := _COMM.match(text):
            close()
            kind = comm["kind"]
        elif process := _PROCESS.match(text):
            told = f"process {process['pid']} on {process['host']}, GPU {process['gpus'].strip()}"
            (answer.dead if kind == "DEAD" else answer.silent).setdefault(told, line)
        elif gone := _MISSING.match(text):
            answer.missing |= dict.fromkeys(_numbers(gone["ranks"]), line)
        elif counts := _COUNTS.match(text):
            close()
            what, errors = counts["what"] or "operation", ""
        elif failed := _ERRORS.match(text):
            errors = failed["kind"].lower()
        elif reported := _REPORTED.match(text):
            errors = reported["error"]
        elif launched := _LAUNCHED.match(text):
            at = int(launched["at"] or 0)
            groups.setdefault(at, [])
        elif rank := _RANK.match(text):
            who = f"rank {rank['rank']}" + (f" on {rank['host']}, GPU {rank['gpu'].strip()}" if rank["host"] else "")
            if kind == "INCOMPLETE":
                answer.missing.setdefault(int(rank["rank"]), line)
            elif kind == "ERROR" or rank["error"]:
                answer.errors.setdefault(f"{who}: {rank['error'] or errors or 'error'}", line)
            elif not rank["status"] and what:
                own = int(rank["at"]) if rank["at"] else 0 if rank["none"] else at
                groups.setdefault(own, []).append((who, line))
    close()
    answer.silent = {told: line for told, line in answer.silent.items() if told not in answer.dead}
    return answer


def _numbers(text: str) -> list[int]:
    """Ranks of `3, 7-9`, at most MOST."""
    found: list[int] = []
    for first, last in re.findall(r"(\d{1,7})(?:\s*-\s*(\d{1,7}))?", text):
        found += range(int(first), min(int(last or first), int(first) + MOST) + 1)
    return found[:MOST]


def _documents(section: Block) -> Iterator[_Answer]:
    text = "\n".join(line.text for line in section.lines)
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            whole, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(whole, dict) and isinstance(whole.get("communicators"), list):
            yield _document(whole["communicators"], section.lines[text.count("\n", 0, at)])
        at = text.find("{", end)


def _document(communicators: list[object], line: Line) -> _Answer:
    answer = _Answer()
    for comm in communicators:
        if not isinstance(comm, dict):
            continue
        for rank in _maps(comm.get("missing_ranks")):
            given = rank.get("status")
            state: Mapping[str, object] = given if isinstance(given, dict) else {}
            if isinstance(number := rank.get("rank"), int):
                answer.missing.setdefault(number, line)
            if state.get("considered_dead") is True:
                answer.dead.setdefault(_who(rank), line)
            elif state.get("unresponsive") is True:
                answer.silent.setdefault(_who(rank), line)
        ranks = _maps(comm.get("ranks"))
        for rank in ranks:
            own = rank.get("status")
            if isinstance(own, dict) and any(own.get(key) not in WELL for key in ("init_state", "async_error")):
                codes = f"init_state {own.get('init_state')}, async_error {own.get('async_error')}"
                answer.errors.setdefault(f"{_who(rank)}: {codes}", line)
        _late(ranks, answer, line)
    return answer


def _late(ranks: list[Mapping[str, object]], answer: _Answer, line: Line) -> None:
    """Ranks with fewer calls of an operation than most of their communicator."""
    counts = {id(rank): found for rank in ranks if isinstance(found := rank.get("collective_counts"), dict)}
    for operation in sorted({str(name) for found in counts.values() for name in found}):
        own = {key: value for key, found in counts.items() if isinstance(value := found.get(operation), int)}
        if len(set(own.values())) < 2:
            continue
        top = max(own.values())
        few = [rank for rank in ranks if own.get(id(rank), top) < top]
        if 2 * len(few) <= Counter(own.values()).total():
            for rank in few:
                answer.behind.setdefault(f"{_who(rank)}: {operation} {own[id(rank)]} of {top}", line)


def _who(rank: Mapping[str, object]) -> str:
    return f"rank {rank.get('rank', '?')} on {str(rank.get('host', '?'))[:80]}, GPU {rank.get('nvml_dev', '?')}"


def _maps(value: object) -> list[Mapping[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
