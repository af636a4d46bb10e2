"""Reads what launchers and programs put before a line: rank, local rank, host, process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Style(StrEnum):
    """Labels that can only be told from ordinary text because every line of the file has one."""

    NONE = "none"
    SRUN = "srun"
    PDSH = "pdsh"
    STERN = "stern"
    COMPOSE = "compose"


STYLES: dict[Style, re.Pattern[str]] = {
    Style.SRUN: re.compile(r" *(?P<rank>\d{1,6}):(?: |$)"),
    Style.PDSH: re.compile(r"(?P<host>[A-Za-z](?:[^\W\d]|[.-])*\d[\w.-]*):(?: |$)"),
    # a date and an hour look the same
    Style.STERN: re.compile(
        r"(?!\d{4}-\d\d-\d\d )(?P<host>[a-z0-9][a-z0-9.-]*-(?:\d+|[a-z0-9]{5})) [a-z0-9][a-z0-9-]* ?"
    ),
    Style.COMPOSE: re.compile(r"(?P<host>[A-Za-z][\w.-]*) +\| ?"),
}

LABELS: tuple[re.Pattern[str], ...] = (
    re.compile(r"\[rank(?P<rank>\d+)\]: ?|\[rank(?P<rank2>\d+)\]:(?=\[)"),  # PyTorch 2.2 and later
    re.compile(r"\[(?!rank)[a-z_]+(?P<local>\d+)\]: ?"),  # torchrun --tee: role and local rank
    re.compile(r"\[(?:[\w.@-]+[,@])?(?:\d+,)?(?P<rank>\d+)\]<(?:stdout|stderr|stddiag)>: ?"),  # mpirun --tag-output
    re.compile(
        r"\((?P<name>[\w.:<>-]+)(?: rank=(?P<rank>\d+))?,? pid=(?P<pid>\d+)(?:, ip=(?P<host>[\w.:-]+))?\) ?"
    ),  # Ray
    re.compile(r"\[pod/(?P<host>[\w.-]+)/[\w.-]+\] ?"),  # kubectl logs --prefix
    re.compile(r"\[[Rr](?:ank|ANK)[ _:=]{0,2}(?P<rank>\d+)\]:? ?"),
    re.compile(r"[Rr](?:ank|ANK)[ _:=]?(?P<rank>\d+): ?"),
)

BEGINNINGS = "[(Rr"
"""What LABELS begin with."""

NCCL = re.compile(r"(?:\[[\d: -]{8,20}\] )?(?P<host>[A-Za-z0-9][\w.-]*):(?P<pid>\d+):\d+ \[(?P<dev>-?\d+)\] ")
SYSLOG = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) (?P<host>[A-Za-z][\w.-]*) "
    r"(?:kernel|[\w./-]+(?:\[\d+\])?): "
)
WORKER = re.compile(r"(?:Worker|VllmWorker|RayWorkerWrapper)_?(?:TP|rank|Rank)?(\d+)$")
IN_TEXT = re.compile(
    r"\[[Rr]ank[ :=_]*(\d+)\]|\[PG (?:ID )?0\b[^\]]*Rank (\d+)\]|\[PG [^\]]*\(default_pg\) Rank (\d+)\]"
    r"|^RANK[ :=]+(\d+)\b|\| ?[Rr]ank[ :=_]?(\d+) ?\||[\"']rank[\"']: ?(\d+)[,}]"
)
FAILED = re.compile(r"failed \(exitcode: -?\d{1,4}\) local_rank: (\d{1,6})")


@dataclass(frozen=True, slots=True)
class Prefix:
    """The label of a line, what it says, and the rest of the line. `process` identifies the process on its host."""

    label: str
    body: str
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None


def split(text: str, style: Style = Style.NONE) -> Prefix:
    """`text` without its labels (at most four, one in another)."""
    if style is Style.NONE and text[:1] not in BEGINNINGS:
        return _with_host(text, 0, None, None, None, None)
    rank = local = pid = None
    host = None
    position = 0
    if style is not Style.NONE and (match := STYLES[style].match(text)):
        found = match.groupdict()
        rank = _number(found.get("rank"))
        host = found.get("host")
        position = match.end()
    for _ in range(3):
        if text[position : position + 1] not in BEGINNINGS:
            break
        for pattern in LABELS:
            if match := pattern.match(text, position):
                break
        else:
            break
        found = match.groupdict()
        rank = _first(rank, _number(found.get("rank") or found.get("rank2")))
        local = _first(local, _number(found.get("local")))
        pid = _first(pid, _number(found.get("pid")))
        host = host or found.get("host")
        if rank is None and (worker := WORKER.match(found.get("name") or "")):
            rank = int(worker[1])
        position = match.end()
    return _with_host(text, position, rank, local, host, pid)


def _with_host(
    text: str, position: int, rank: int | None, local: int | None, host: str | None, pid: int | None
) -> Prefix:
    """NCCL and syslog write the host into the message itself, which therefore stays whole."""
    if match := NCCL.match(text, position):
        host = host or match["host"]
        pid = _first(pid, int(match["pid"]))
        device = int(match["dev"])
        local = _first(local, device if device >= 0 else None)
    elif host is None and (match := SYSLOG.match(text, position)):
        host = match["host"]
    return Prefix(text[:position], text[position:], rank, local, host, pid)


def rank_in(body: str) -> int | None:
    """The rank that a message names as its own; ranks within subgroups do not count."""
    match = IN_TEXT.search(body, 0, 400)
    return int(next(number for number in match.groups() if number)) if match else None


def failed_in(body: str) -> int | None:
    """The local rank that torchrun's agent reports as failed."""
    match = FAILED.search(body, 0, 400)
    return int(match[1]) if match else None


def style_of(lines: Sequence[str]) -> Style:
    """The label that nearly every one of `lines` has, if any."""
    lines = [line for line in lines if line.strip()]
    if len(lines) < 3:
        return Style.NONE
    for style, pattern in STYLES.items():
        labels = Counter(match[0].strip() for line in lines if (match := pattern.match(line)))
        # Numbered lists and "key1: value" blocks have as many labels as lines; a launcher's labels repeat.
        if sum(labels.values()) >= 0.9 * len(lines) and len(labels) <= max(1, 0.67 * len(lines)):
            return style
    return Style.NONE


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) < 10 else None


def _first(a: int | None, b: int | None) -> int | None:
    return b if a is None else a
