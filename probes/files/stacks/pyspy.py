"""Reads what `py-spy dump` prints, as text and as JSON (py-spy 0.3 and 0.4; src/dump.rs, src/stack_trace.rs)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from probes.files.stacks.model import MOST_FRAMES, Frame, Stack, StackError, Thread

PROCESS = re.compile(r"Process (\d{1,9}): ?(.*)")
THREAD = re.compile(r'Thread (0x[0-9A-Fa-f]{1,16}|\d{1,20})(?: \(([\w+]+)\))?(?:: "([^"]*)")?')
FRAME = re.compile(r"\s{2,}(\S.*?) \(([^()]*?)(?::(\d{1,7}))?\)")
MAIN = "MainThread"
LONGEST = 100
"""Letters of a function's name that are kept; in C++ a name can hold thousands."""


def from_text(lines: Iterable[str], path: str = "") -> list[Stack]:
    """The processes of one text, in order; other lines between them are passed over."""
    found: list[_Open] = []
    for number, line in enumerate(lines, 1):
        if begun := PROCESS.fullmatch(line.strip()):
            found.append(_Open(int(begun[1]), number, begun[2]))
        elif found and (thread := THREAD.match(line)):
            found[-1].threads.append((thread[3] or "", thread[2] or "", []))
        elif found and found[-1].threads and (frame := FRAME.fullmatch(line.rstrip())):
            frames = found[-1].threads[-1][2]
            if len(frames) < MOST_FRAMES:
                frames.append(Frame(_short(frame[1]), frame[2], int(frame[3] or 0), frame[2]))
    return [stack for one in found if (stack := one.stack(path)).threads]


class _Open:
    """A process whose threads are being read."""

    def __init__(self, pid: int, line: int, command: str) -> None:
        self.pid, self.line, self.command = pid, line, command
        self.threads: list[tuple[str, str, list[Frame]]] = []

    def stack(self, path: str) -> Stack:
        named = any(name == MAIN for name, _, _ in self.threads)
        threads = tuple(
            # without names, as of a program that is no Python 3, the first is the oldest
            Thread(name, tuple(frames), name == MAIN or (not named and position == 0), "idle" in state)
            for position, (name, state, frames) in enumerate(self.threads)
        )
        return Stack(self.pid, threads, path, self.line, None, self.command)


def from_json(text: str, path: str = "") -> list[Stack]:
    """The processes of `py-spy dump --json`; StackError when it is something else."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StackError(f"is not JSON: {str(error)[:120]}") from None
    if not isinstance(data, list):
        raise StackError("is no list of threads")
    threads: dict[int, list[Thread]] = {}
    commands: dict[int, str] = {}
    for entry in data:
        pid = _number(entry.get("pid")) if isinstance(entry, dict) else 0
        if not isinstance(entry, dict) or not isinstance(entry.get("frames"), list):
            raise StackError("is no list of threads with frames")
        name = entry.get("thread_name") or ""
        known = entry.get("os_thread_id")
        main = name == MAIN or (not name and known is not None and known == pid)
        frames = tuple(_frame(frame) for frame in entry["frames"][:MOST_FRAMES] if isinstance(frame, dict))
        threads.setdefault(pid, []).append(Thread(str(name), frames, main, not entry.get("active")))
        info = entry.get("process_info")
        if isinstance(info, dict):
            commands[pid] = str(info.get("command_line") or "")
    return [Stack(pid, tuple(own), path, 0, None, commands.get(pid, "")) for pid, own in threads.items()]


def _frame(given: dict[str, Any]) -> Frame:
    path = str(given.get("filename") or "")
    shown = str(given.get("short_filename") or path)
    return Frame(_short(str(given.get("name") or "?")), shown, _number(given.get("line")), path)


def _short(name: str) -> str:
    """A function without the long arguments of its templates; addresses differ between processes and tell nothing."""
    if name.startswith("0x"):
        return "?"
    return name if len(name) <= LONGEST else f"{name[:LONGEST].partition('<')[0]}<…>"


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0
