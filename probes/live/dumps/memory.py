"""Asks pdoctor's recorder in the ranks of this node for snapshots of GPU memory, while the job runs on.

A rank that uses a GPU holds the named pipe `.rankN.ask` open beside its recording `rankN.jsonl`
(doctor/recorder/pipe.py). A byte in it is looked for at the end of each step, and answered by lines in the recording
that tell of a history that begins, of the file that was written, or why there is none.
"""

from __future__ import annotations

import json
import os
import re
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from probes.live.dumps.pipe import poke
from probes.node.interface.host import Host
from probes.node.interface.model import why
from probes.node.interface.processes import Rank

PIPE = re.compile(r"(?P<folder>/.*)/\.(?P<stem>rank\d{1,7})\.ask")
FILE = re.compile(r"rank\d{1,7}-memory-\d{1,4}\.pickle")
WHAT = "the pipe of its recorder"
WAIT, LOOK = 900.0, 0.25
"""Seconds that all ranks together are given, since a step may last a minute; between two looks."""
MOST_BYTES, MOST_NEWS = 96 << 20, 1 << 20
"""Bytes of a snapshot that is read beside the job, which takes some ten times as much; and of what is read of a
recording at once."""
MARK = b'"record":"snapshot"'


@dataclass(slots=True)
class Taken:
    """The new snapshot of each rank that wrote one; for the others why there is none, and their ranks."""

    files: dict[int, Path] = field(default_factory=dict)
    refused: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class _Asked:
    """`recording` as the rank itself has it open, read up to `offset`; files lie in `folder` as the rank sees it."""

    rank: Rank
    recording: Path
    folder: str
    offset: int
    cut: bytes = b""


def snapshots(host: Host, ranks: Sequence[Rank], wait: float = WAIT, stopping: threading.Event | None = None) -> Taken:
    """Asks each rank and waits for its snapshot, until `stopping` is set; never raises."""
    taken, asked = Taken(), []
    for rank in ranks:
        try:
            asked.append(_ask(host, rank))
        except LookupError as error:
            taken.refused[str(error.args[0])].append(rank.rank)
    end = time.monotonic() + wait
    stopping = stopping or threading.Event()
    while asked and time.monotonic() < end and not stopping.is_set():
        asked = [one for one in asked if not _answered(host, one, taken)]
        if asked:
            stopping.wait(LOOK)
    for one in asked if not stopping.is_set() else ():
        taken.refused[f"took none within {wait:g} s: it does so at the end of a step"].append(one.rank.rank)
    return taken


def _ask(host: Host, rank: Rank) -> _Asked:
    """Writes a byte to the pipe that the rank has open; LookupError says why not."""
    opened = dict(_open_files(host, rank))
    pipe = next((number for number, path in opened.items() if PIPE.fullmatch(path)), "")
    match = PIPE.fullmatch(opened.get(pipe, ""))
    if match is None:
        raise LookupError("runs no recorder that sees a GPU; see docs/recorder.md")
    recording = f"{match['folder']}/{match['stem']}.jsonl"
    number = next((number for number, path in opened.items() if path == recording), "")
    if not number:
        raise LookupError("has its recorder switched off")
    try:
        # By what the rank itself has open, so that no other file can take the place of either.
        place = host.path(f"{rank.proc}/fd/{number}")
        asked = _Asked(rank, place, match["folder"], os.stat(place).st_size)
        poke(host.path(f"{rank.proc}/fd/{pipe}"), WHAT, follow=True, owner=os.stat(host.path(rank.proc)).st_uid)
    except OSError as error:
        raise LookupError(f"{WHAT}: {why(error)}") from None
    return asked


def _open_files(host: Host, rank: Rank) -> Iterator[tuple[str, str]]:
    folder = f"{rank.proc}/fd"
    try:
        numbers = host.names(folder)
    except OSError as error:
        raise LookupError(f"does not show its open files: {why(error)}") from None
    for number in numbers:
        with suppress(OSError):
            yield number, os.readlink(host.path(f"{folder}/{number}"))


def _answered(host: Host, one: _Asked, taken: Taken) -> bool:
    """Does a line of the recording tell how it went?"""
    for line in _news(one):
        if "file" in line:
            try:
                taken.files[one.rank.rank] = _file(host, one, str(line["file"]))
            except LookupError as error:
                taken.refused[str(error.args[0])].append(one.rank.rank)
            return True
        if "why" in line:
            taken.refused[str(line["why"])[:300]].append(one.rank.rank)
            return True
    if one.recording.exists():
        return False
    taken.refused["ended before it took one"].append(one.rank.rank)
    return True


def _news(one: _Asked) -> Iterator[dict[str, object]]:
    """Lines about snapshots that were written since the last look."""
    try:
        with one.recording.open("rb") as file:
            file.seek(one.offset)
            data = file.read(MOST_NEWS)
    except OSError:
        return
    one.offset += len(data)
    *lines, one.cut = (one.cut + data).split(b"\n")
    one.cut = one.cut[-MOST_NEWS:]
    for text in lines:
        if MARK in text:
            with suppress(ValueError, RecursionError):
                line = json.loads(text)
                if isinstance(line, dict):
                    yield line


def _file(host: Host, one: _Asked, name: str) -> Path:
    """The snapshot by its plain path, or as the rank sees it where that lies in a container; LookupError for what is
    none: the recording is text that anybody may have written."""
    if not FILE.fullmatch(name):
        raise LookupError("names a file that no recorder writes")
    inside = host.path(f"{one.rank.proc}/root{one.folder}/{name}")
    try:
        found, owner = os.lstat(inside), os.stat(host.path(one.rank.proc)).st_uid
    except OSError as error:
        raise LookupError(f"{name}: {why(error)}") from None
    if not stat.S_ISREG(found.st_mode) or found.st_uid != owner:
        raise LookupError(f"{name} is another file than the recorder's")
    plain = host.path(f"{one.folder}/{name}")
    with suppress(OSError):
        if os.path.samestat(found, os.lstat(plain)):
            inside = plain
    if found.st_size > MOST_BYTES:
        raise LookupError(
            f"holds {found.st_size >> 20} MiB, too much to be read beside the job: pdoctor analyze {inside}"
        )
    return inside
