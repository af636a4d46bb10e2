"""Reads what Python's faulthandler writes at a crash, on a signal, after a time (Python/traceback.c)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from probes.files.stacks.model import MOST_FRAMES, Frame, Stack, Thread

THREAD = re.compile(r"(?:Current thread|Thread) (0x[0-9A-Fa-f]{1,16})(?: \[([^\]]*)\])? \(most recent call first\):")
ALONE = re.compile(r"Stack \(most recent call first\):")
FRAME = re.compile(r'  File "([^"]*)", line (\d{1,7}|\?\?\?) in (.+)')


def from_text(lines: Iterable[str], path: str = "") -> list[Stack]:
    """The dumps of one text, each a moment of its process: a thread that comes again begins the next.

    Threads come youngest first, so the last one of a dump is the main thread.
    """
    dumps: list[tuple[int, dict[str, tuple[str, list[Frame]]]]] = []
    frames: list[Frame] | None = None
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        thread = THREAD.search(line)
        if thread or ALONE.search(line):
            known, name = (thread[1], thread[2] or "") if thread else ("", "")
            if not dumps or known in dumps[-1][1]:
                dumps.append((number, {}))
            frames = []
            dumps[-1][1][known] = (name, frames)
        elif frames is not None and (frame := FRAME.search(line)):
            place = 0 if frame[2] == "???" else int(frame[2])
            if len(frames) < MOST_FRAMES:
                frames.append(Frame(frame[3], short(frame[1]), place, frame[1]))
        elif line.strip() and not line.lstrip().startswith(("...", "<")):
            frames = None
    return [Stack(0, _threads(threads), path, number) for number, threads in dumps if threads]


def _threads(found: dict[str, tuple[str, list[Frame]]]) -> tuple[Thread, ...]:
    last = len(found) - 1
    return tuple(Thread(name, tuple(frames), at == last) for at, (name, frames) in enumerate(found.values()))


def short(path: str) -> str:
    """The file without the folder that packages lie in, as py-spy shows it."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in path:
            return path.rpartition(folder)[2]
    found = re.search(r"/python3\.\d+/(.+)", path)
    return found[1] if found else path.rpartition("/")[2]
