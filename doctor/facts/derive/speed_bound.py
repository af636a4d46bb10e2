"""What the speed of a job says about its cards, where nothing names them."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("run.tflops", "run.memory_max", "run.memory_share", "config.fp8")
GIVES = ("run.memory_share_most",)

# The fastest cards with less than 80 GB for 16-bit products are the A100-40GB, 312 TFLOP/s by the data sheet and 271 in
# the best matrix product (github.com/stas00/ml-engineering, compute/accelerator, achievable matmul), and the L40S, 362
# by the data sheet. A whole training step stays below both.
TOO_FAST_FOR_SMALL_CARDS = 280.0
LEAST_MEMORY = 79 * 2**30  # what the driver leaves of 80 GB


def derive(store: FactStore) -> Iterator[Fact]:
    """An upper bound of the share of memory in use: a step as fast as that runs on a card of 80 GB or more.

    FP8 products are faster on small cards too, so they tell nothing.
    """
    if any(fact.value is True for fact in store.every("config.fp8")):
        return
    for speed in store.every("run.tflops"):
        peak = store.get("run.memory_max", speed.entity)
        if peak is None or store.get("run.memory_share", speed.entity) is not None:
            continue
        if isinstance(speed.value, int | float) and speed.value > TOO_FAST_FOR_SMALL_CARDS:
            share = min(1.0, float(str(peak.value)) / LEAST_MEMORY)
            sources = (*speed.because, *peak.because) or (speed.source, peak.source)
            yield Fact("run.memory_share_most", share, speed.entity, Source("derived"), None, Quality.DERIVED, sources)
