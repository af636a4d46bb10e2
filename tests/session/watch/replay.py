"""Plays saved logs into a folder that is watched, by a clock of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from doctor.rulebase.load import Loaded, load_rulebase
from doctor.session.notes import Note
from doctor.session.watch.follow import Following, follow
from doctor.session.watch.model import Announcement, Kept
from doctor.session.watch.watch import Watch

BEGIN = 1_767_323_045.0
"""2026-01-02 03:04:05 UTC."""


@dataclass(slots=True)
class Replay:
    """A folder, watched from the start; what was said and noted so far."""

    folder: Path
    kept: Kept | None = None
    loaded: Loaded = field(default_factory=load_rulebase)
    now: float = BEGIN
    said: list[Announcement] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    following: Following = field(init=False)
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        marks = self.kept.marks if self.kept else ()
        self.following = follow([str(self.folder)], marks=marks, clock=lambda: self.now)
        self.watch = Watch(
            self.loaded, self.following.follower, self.following.roots, kept=self.kept, clock=lambda: self.now
        )

    def write(self, name: str, text: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    def turn(self, seconds: float = 1.0) -> list[Announcement]:
        """Lets time go on, and reads all there is."""
        self.now += seconds
        said: list[Announcement] = []
        more = True
        while more:
            turned = self.watch.turn()
            said += turned.said
            self.notes += turned.notes
            more = turned.more
        self.said += said
        return said

    def turns(self, count: int, seconds: float = 1.0) -> list[Announcement]:
        return [one for _ in range(count) for one in self.turn(seconds)]

    def play(self, texts: Mapping[str, str], turns: int, seconds: float) -> list[Announcement]:
        """All files side by side, line by line, in so many turns; then the end."""
        lines = {name: text.splitlines(keepends=True) for name, text in texts.items()}
        for number in range(turns):
            for name, own in lines.items():
                part = own[number * len(own) // turns : (number + 1) * len(own) // turns]
                if part:
                    self.write(name, "".join(part))
            self.turn(seconds)
        self.turns(3)
        self.said += self.watch.finish()
        return self.said

    def keys(self) -> list[str]:
        return [f"{one.kind} {one.text_key}" for one in self.said]
