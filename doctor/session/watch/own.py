"""Files that a watch writes itself: never over a log, and never taken for one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from doctor.session.inputs import InputError
from doctor.session.notes import Note

BEGINNINGS: Mapping[str, bytes] = {"metrics-file": b"# HELP pdoctor_", "jsonl": b"{"}
"""How what is there already begins where it is of the kind that is written, by option."""


def check(own: Mapping[str, Path], named: Sequence[str]) -> None:
    """Raises InputError where one of `own`, by option, is a file that is followed or that holds something else."""
    for option, path in own.items():
        if any(_same(path, Path(name)) for name in named):
            raise InputError(Note("attach.own_followed", str(path), {"option": option}))
        if option in BEGINNINGS and not _begins(path, BEGINNINGS[option]):
            raise InputError(Note("attach.own_other", str(path), {"option": option}))


def apart(own: Sequence[Path]) -> Callable[[str, os.stat_result], bool]:
    """Tells what pdoctor writes, its output too: else each finding that it quotes would be read as a further one."""
    paths = {os.path.realpath(path) for path in own}

    def is_own(path: str, found: os.stat_result) -> bool:
        return os.path.realpath(path) in paths or any(_is_output(number, found) for number in (1, 2))

    return is_own


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return not other.is_dir() and one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _begins(path: Path, beginning: bytes) -> bool:
    """May it be written to? What is no file of its own, such as a pipe, is the person's affair."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(len(beginning))
            return beginning.startswith(head) if len(head) < len(beginning) else head == beginning
    return True


def _is_output(number: int, found: os.stat_result) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(found.st_mode) and os.path.samestat(os.fstat(number), found)
    return False
