"""A loss scale that falls and falls: the gradients leave the range of fp16."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from doctor.facts.model import Source

WINDOW = 64
FALL = 16.0
"""A loss scale is halved at an overflow and doubled after 1000 or 2000 good steps (DeepSpeed, Megatron, apex), so that
it swings by a factor of two or four; four halvings in `WINDOW` lines are a fall."""
SEARCH = 16
"""First lines, in which a loss scale is still searched for from 2^32 or 2^16 down."""
LASTS = 3
"""Lines for which it has to be so low: where two models print their scales in turn, every other line is."""


@dataclass(slots=True)
class LossScale:
    """One series: what step lines print, or what lines of overflow do. These are not mixed, since a wrapper may print a
    scale of its own, such as the 1.0 of bf16, beside that of the engine."""

    seen: int = 0
    values: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    last: Source | None = None

    def see(self, scale: float, source: Source) -> None:
        self.seen += 1
        if self.seen > SEARCH and scale > 0:
            self.values.append(scale)
            self.last = source

    @property
    def fall(self) -> tuple[float, float, Source] | None:
        """How many times smaller than the greatest the present one is, the present one, and where it was read."""
        if self.last is None or len(self.values) < LASTS:
            return None
        greatest, now = max(self.values), self.values[-1]
        lasts = all(greatest >= FALL * self.values[-back] for back in range(1, LASTS + 1))
        return (greatest / now, now, self.last) if lasts else None
