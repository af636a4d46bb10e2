"""Recordings that nothing could be learnt from: what they may show is not known, so a job is not healthy by them."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.model import Fact, Quality
from doctor.session.report import Input

RECORDED = frozenset(
    {"trace", "nsys", "flight_recorder", "memory_snapshot", "expert_loads", "what_if", "recording", "stacks"}
)
"""Kinds of files that say something of the job whenever they can be read."""
HOST = "probe.host"
"""What a node that does not answer fails to give."""


def unread(inputs: Sequence[Input], facts: Sequence[Fact]) -> tuple[str, ...]:
    """Kinds of recordings of which no file gave a fact, and every file a remark that says why; `host` where one of the
    hosts that were asked gave no answer."""
    speaking = {fact.source.path for fact in facts}
    silent: dict[str, bool] = {}
    for given in inputs:
        if given.kind in RECORDED:
            mute = bool(given.notes) and given.path not in speaking
            silent[given.kind] = silent.get(given.kind, True) and mute
    if any(fact.name == HOST and fact.quality is Quality.FAILED for fact in facts):
        silent["host"] = True
    return tuple(kind for kind, mute in silent.items() if mute)
