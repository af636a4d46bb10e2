"""Which lines tell that training moves on: those of a step, and the bar of a training loop."""

from __future__ import annotations

from doctor.facts.derive.progress import is_training_bar
from doctor.facts.model import Event

BARS = ("progress.bar", "lightning.epoch_bar")
COUNTS = ("progress.bar", "progress.loss_line", "progress.step")
"""Lines that number the steps. A log may tell them twice and count anew in each epoch, or micro-steps, in one of the
ways: the last of these that it has is believed, and others only where it has none of these."""
BEATS = (*COUNTS, "progress.rate", "progress.step_time", "lightning.epoch_bar")


def is_beat(event: Event) -> bool:
    """Does the line tell that training moves on? The bars of loading, evaluation and the like do not."""
    return event.name in BEATS and (event.name != "progress.bar" or is_training_bar(event))
