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

NEEDED = {
    b"cpu_op": (*(b"aten::item", b"aten::_local", b"aten::is_nonzero", b"aten::nonzero", b"ProfilerStep"),),
    b"Operator": (b"aten::item", b"aten::_local", b"aten::is_nonzero", b"aten::nonzero", b"ProfilerStep"),
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


@dataclass(slots=True)
class Skipping:
    """What begins an event that is not needed, as this file is written."""

    SMALL: ClassVar[int] = 8 << 20
    """Traces up to this size are read whole, so that damage to any of their events is told."""

    separator: bytes = b""
    skip: tuple[bytes, ...] = ()
    keep: tuple[bytes, ...] = ()
    passed: int = 0

    def needed(self, block: bytes, separator: bytes) -> bytes | None:
        """The JSON array of the events of `block` that are needed; None when the layout is not known."""
        if not self.skip and not self._learn(block):
            return None
        pieces = block.strip()[1:-1].split(separator)
        skip, keep = self.skip, self.keep
        kept = [piece for piece in pieces if not piece.startswith(skip) or piece.startswith(keep)]
        self.passed = len(pieces) - len(kept)
        return b"[{" + b"},{".join(kept) + b"}]" if kept else b"[]"

    def _learn(self, block: bytes) -> bool:
        found = FIRST.search(block)
        if found is None:
            return False
        a, b, c, d, e, f = (found[name] for name in "abcdef")

        def prefix(phase: bytes, category: bytes) -> bytes:
            return a + b'"ph":' + b + b'"' + phase + b'",' + c + b'"cat":' + d + b'"' + category + b'"'

        def call(category: bytes, name: bytes) -> bytes:
            return prefix(b"X", category) + b"," + e + b'"name":' + f + b'"' + name

        skip = [prefix(b"X", category) for category in NEEDED]
        skip += [a + b'"ph":' + b + b'"' + phase + b'"' for phase in ARROWS]
        skip.append(prefix(b"i", b"cpu_instant_event"))
        skip += [call(category, name) for category in RUNTIMES for name in IDLE_CALLS]
        if (named := NAMED.search(block)) is not None:
            begin = named["a"] + b'"name":' + named["b"] + b'"'
            skip += [begin + b"process_", begin + b"thread_"]
        else:
            begin = a + b'"name":' + b + b'"'
            skip += [begin + b"process_", begin + b"thread_"]
        keep = [call(category, name) for category, names in NEEDED.items() for name in names]
        keep += [call(category, name) for category in RUNTIMES for name in SYNCHRONIZES]
        self.skip, self.keep = tuple(skip), tuple(keep)
        return True
