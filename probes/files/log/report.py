"""The part of torchrun's summary that tells of one rank: the lines from its `rank` on, which are indented alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from probes.files.log.prefix import Prefix

FAILED = re.compile(r"rank +: (\d+) \(local_rank: (\d+)\)")
"""A process that failed, by rank and local rank."""
INDENT = "  "
FOREIGN = 200
"""Lines of others between two lines of one part, after which it is taken as cut off."""


@dataclass(frozen=True, slots=True)
class Report:
    """A part that is being read, by `rank` and the label of its lines; `others` counts lines between them."""

    rank: int
    label: str
    others: int = 0

    def after(self, prefix: Prefix) -> Report | None:
        """What is being read once the line was: a line without the indent ends the part, an empty one does not."""
        if prefix.label != self.label:
            return replace(self, others=self.others + 1) if self.others < FOREIGN else None
        if prefix.body.strip() and not prefix.body.startswith(INDENT):
            return None
        return replace(self, others=0) if self.others else self

    def tells_of(self, prefix: Prefix) -> bool:
        """Is the line, which does not end the part, one of it?"""
        return prefix.label == self.label and prefix.rank is None


def begun(prefix: Prefix) -> Report | None:
    """The part that starts with this line."""
    match = FAILED.search(prefix.body, 0, 400)
    return Report(int(match[1]), prefix.label) if match else None
