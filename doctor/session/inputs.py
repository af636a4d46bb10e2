"""Finds the files to read: those given, and those below the folders given, in sorted order and bounded number."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from doctor.session.notes import Note

MAX_FILES = 20_000
"""More files than this are not looked at; jobs of 1,024 ranks leave a few files a rank."""

ASKED = ".ask"
"""How a pipe ends at which pdoctor's recorder listens beside its recording (doctor/recorder/pipe.py): nobody's news."""

SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj", "__pycache__"})


class InputError(Exception):
    """Nothing can be diagnosed from what was given; `note` says why in one line."""

    def __init__(self, note: Note) -> None:
        super().__init__(note.key)
        self.note = note


@dataclass(slots=True)
class Collected:
    """The files found, each as (path, bytes), and what was passed over and why."""

    files: list[tuple[str, int]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def collect(paths: Sequence[str | os.PathLike[str]]) -> Collected:
    """The files at and below `paths`; raises InputError for a path that does not exist.

    Links are followed, each folder and each file is taken once. Only regular files are read: opening a pipe, socket
    or device could block or act.
    """
    found = Collected()
    seen: set[tuple[int, int]] = set()
    for path in paths:
        shown = os.fspath(path)
        try:
            os.stat(shown)
        except FileNotFoundError:
            raise InputError(Note("input.missing", shown)) from None
        except OSError as error:
            found.notes.append(_unreadable(shown, error))
            continue
        before = len(found.files), len(found.notes)
        for file in _walk(shown, found.notes, seen):
            if len(found.files) == MAX_FILES:
                found.notes.append(Note("input.too_many", shown, {"limit": str(MAX_FILES)}))
                return found
            found.files.append(file)
        if before == (len(found.files), len(found.notes)):
            found.notes.append(Note("input.empty_folder", shown))
    return found


def _walk(path: str, notes: list[Note], seen: set[tuple[int, int]]) -> Iterator[tuple[str, int]]:
    # A stack and not recursion: the depth of a tree is the input's choice.
    stack = [path]
    while stack:
        place = stack.pop()
        try:
            status = os.stat(place)
            if (key := (status.st_dev, status.st_ino)) in seen:
                continue
            seen.add(key)
            if stat.S_ISDIR(status.st_mode):
                names = sorted(os.listdir(place), reverse=True)
                stack += [os.path.join(place, name) for name in names if name not in SKIPPED_FOLDERS]
            elif stat.S_ISREG(status.st_mode):
                yield place, status.st_size
            elif not place.endswith(ASKED):
                notes.append(Note("input.special", place))
        except OSError as error:
            notes.append(_unreadable(place, error))


def _unreadable(path: str, error: OSError) -> Note:
    return Note("input.unreadable", path, {"reason": error.strerror or type(error).__name__})
