"""Stacks of processes: frames, threads, and one process at one moment."""

from __future__ import annotations

from dataclasses import dataclass

MOST_FRAMES = 128
"""Frames kept of a thread: the innermost."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A call that has not returned: its function, its file as it is shown, its line (0 if unknown), where that lies."""

    name: str
    file: str = ""
    line: int = 0
    path: str = ""

    @property
    def title(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.name} ({place})" if place else self.name

    @property
    def native(self) -> bool:
        """Is it a function of a library or program, as `--native` shows them?"""
        return not self.line and not self.file.endswith(".py")


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread; its frames begin with the innermost. `idle` is what the sampler made of it."""

    name: str
    frames: tuple[Frame, ...]
    main: bool = False
    idle: bool = True


@dataclass(frozen=True, slots=True)
class Stack:
    """The threads of one process at one moment; `line` is where they stand in `path`, `rank` what a text says of it."""

    pid: int
    threads: tuple[Thread, ...]
    path: str = ""
    line: int = 0
    rank: int | None = None
    command: str = ""

    @property
    def main(self) -> Thread | None:
        return next((thread for thread in self.threads if thread.main), None)


class StackError(ValueError):
    """A text is no dump of stacks; str() says what is wrong with it."""
