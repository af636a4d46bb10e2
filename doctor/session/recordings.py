"""Of two recordings of one rank one is told: numbers of two runs make no sum, and no cause, together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doctor.facts.model import Fact
from doctor.session.notes import Note
from doctor.session.report import Input

FIRST, SECOND = "trace", "nsys"
"""Which kind is told: traces of PyTorch's profiler say which rank, step and process group they are of."""


def told_once(inputs: Sequence[Input], facts: Sequence[Fact]) -> tuple[list[Input], list[Fact]]:
    """Without what exports of Nsight Systems say of ranks, or of the job, that traces tell of; each is remarked on."""
    kinds = {given.path: given.kind for given in inputs}
    traced = {f.entity for f in facts if kinds.get(f.source.path) == FIRST and f.entity.startswith("rank:")}
    lost = {f.source.path for f in facts if kinds.get(f.source.path) == SECOND and f.entity in traced}
    kept = [fact for fact in facts if fact.source.path not in lost]
    return [_remarked(given) if given.path in lost else given for given in inputs], kept


def _remarked(given: Input) -> Input:
    text = "records ranks that a trace of the PyTorch profiler tells of too: it is left out, analyze it apart"
    note = Note("input.probe_says", given.path, {"place": "", "text": text})
    return replace(given, notes=(*given.notes, note))
