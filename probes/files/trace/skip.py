"""Passes over events that are not needed before they are decoded.

Four of five events of a trace are operators, Python functions, arrows and names of tracks. Writers put the fields of
an event in one order, so the first bytes tell what it is. Where that order is not kept, nothing is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

FIRST = re.compile(rb'\{(?P<a>\s*)"ph":(?P<b>\s*)"X",(?P<c>\s*)"cat":(?P<d>\s*)"[^"]*",(?P<e>\s*)"name":(?P<f>\s*)"')
NAMED = re.compile(rb'\{(?P<a>\s*)"name":(?P<b>\s*)"[^"]*",(?P<c>\s*)"ph":(?P<d>\s*)"M"')

OPERATORS = (b"aten::item", b"aten::_local", b"aten::is_nonzero", b"aten::nonzero", b"ProfilerStep", b"enumerate(")
NEEDED = {
    b"cpu_op": OPERATORS,
    b"Operator": OPERATORS,
    b"python_function": (
        *(b"<built-in method collect", b"<built-in function collect", b"torch/utils/data/dataloader.py("),
        b"torch/utils/checkpoint.py(",
    ),
}
"""Of these categories only events whose name begins so are needed."""

IDLE_CALLS = (
    *(b"cudaEvent", b"cudaStreamIs", b"cudaStreamGet", b"cudaStreamWait", b"cudaGet", b"cudaFuncSet", b"cudaFuncGet"),
    *(b"cudaOccupancy", b"cudaPeek", b"cudaPointer", b"cudaDeviceGet", b"INVALID", b"hipGet", b"hipEvent", b"hipCtx"),
    *(b"hipStreamWait", b"hipStreamIs", b"hipStreamGet", b"hipDeviceGet", b"__hip"),
)
SYNCHRONIZES = (b"cudaEventSynchronize", b"hipEventSynchronize")
RUNTIMES = (b"cuda_runtime", b"Runtime")
ARROWS = (b"s", b"f", b"t")
NAMES_OF_TRACKS = (b"process_", b"thread_")
LOOKED_AT, MOST_BEGINNINGS = 64, 50_000
"""Bytes of an event that tell whether it is needed, and how many such beginnings are remembered."""


class Beginnings(dict[bytes, bool]):
    """Whether an event that begins so is needed; asked once for each beginning, which recur thousands of times."""

    def __init__(self, skip: tuple[bytes, ...], keep: tuple[bytes, ...]) -> None:
        self.skip, self.keep = skip, keep

    def __missing__(self, start: bytes) -> bool:
        if len(self) > MOST_BEGINNINGS:
            self.clear()
        kept = not start.startswith(self.skip) or any(
            start.startswith(known) or known.startswith(start) for known in self.keep
        )
        self[start] = kept
        return kept


@dataclass(slots=True)
class Skipping:
    """What begins an event that is not needed, as this file is written."""

    SMALL: ClassVar[int] = 8 << 20
    """Traces up to this size are read whole, so that damage to any of their events is told."""

    known: Beginnings | None = None
    plain: tuple[bytes, ...] = ()
    """Beginnings of arrows and names of tracks, in which numbers come soon: asked without being remembered."""
    passed: int = 0

    def needed(self, block: bytes, separator: bytes) -> bytes | None:
        """The JSON array of the events of `block` that are needed; None when the layout is not known."""
        known = self.known if self.known is not None else self._learn(block)
        if known is None or not separator:
            return None
        pieces = block.split(separator)
        pieces[0] = pieces[0].lstrip()[1:]
        pieces[-1] = pieces[-1].rstrip()[:-1]
        plain = self.plain
        kept = [piece for piece in pieces if not piece.startswith(plain) and known[piece[:LOOKED_AT]]]
        self.passed = len(pieces) - len(kept)
        return b"[{" + b"},{".join(kept) + b"}]" if kept else b"[]"

    def _learn(self, block: bytes) -> Beginnings | None:
        found = FIRST.search(block)
        if found is None:
            return None
        a, b, c, d, e, f = (found[name] for name in "abcdef")

        def prefix(phase: bytes, category: bytes) -> bytes:
            return a + b'"ph":' + b + b'"' + phase + b'",' + c + b'"cat":' + d + b'"' + category + b'"'

        def call(category: bytes, name: bytes) -> bytes:
            return prefix(b"X", category) + b"," + e + b'"name":' + f + b'"' + name

        named = NAMED.search(block)
        track = named["a"] + b'"name":' + named["b"] + b'"' if named else a + b'"name":' + b + b'"'
        arrows = [a + b'"ph":' + b + b'"' + phase + b'"' for phase in ARROWS]
        self.plain = (*(track + name for name in NAMES_OF_TRACKS), *arrows)
        skip = [prefix(b"X", category) for category in NEEDED]
        skip.append(prefix(b"i", b"cpu_instant_event"))
        skip += [call(category, name) for category in RUNTIMES for name in IDLE_CALLS]
        keep = [call(category, name) for category, names in NEEDED.items() for name in names]
        keep += [call(category, name) for category in RUNTIMES for name in SYNCHRONIZES]
        self.known = Beginnings(tuple(skip), tuple(keep))
        return self.known
