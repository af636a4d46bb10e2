"""Model FLOPs utilisation of traced steps, where the configuration tells the model and the batch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = (
    *("trace.step_time", "trace.device_name", "trace.world_size", "config.params", "config.global_batch"),
    *("config.seq_len", "config.precision", "config.num_experts", "config.lora"),
)
GIVES = ("trace.mfu",)

PEAK = (
    (re.compile(r"V100"), 125e12),
    (re.compile(r"A100|A800"), 312e12),
    (re.compile(r"H100.*PCI"), 756e12),
    (re.compile(r"H(?:100|200)|H800"), 989.4e12),
    (re.compile(r"B200"), 2250e12),
    (re.compile(r"MI300X"), 1307.4e12),
    (re.compile(r"MI2[15]0"), 181e12),
)
"""Dense 16-bit peak in FLOP/s by the vendors' data sheets; an MI250 shows as two devices."""
HALF = ("bf16", "fp16")


def derive(store: FactStore) -> Iterator[Fact]:
    """6 x parameters x tokens of a step (Kaplan et al., 2020, section 2.1) over time and peak of all GPUs.

    Not told of mixtures of experts, whose tokens use a part of the parameters, nor of adapters on frozen weights.
    """
    names = ("trace.step_time", "trace.world_size", "config.params", "config.global_batch", "config.seq_len")
    known = [store.get(name) for name in names]
    device = next(store.every("trace.device_name"), None)
    experts, lora = store.get("config.num_experts"), store.get("config.lora")
    precision = store.get("config.precision")
    if device is None or precision is None or str(precision.value) not in HALF:
        return
    if (experts is not None and experts.value != 0) or (lora is not None and lora.value):
        return
    facts = [fact for fact in known if fact is not None]
    if len(facts) < len(names):
        return
    seconds, world, params, batch, length = (float(str(fact.value)) for fact in facts)
    peak = next((most for pattern, most in PEAK if pattern.search(str(device.value))), None)
    if peak is not None and seconds > 0 and world > 0:
        share = 6 * params * batch * length / (seconds * world * peak)
        because = tuple(fact.source for fact in (*facts, device))
        yield Fact("trace.mfu", share, "job", Source("derived"), None, Quality.DERIVED, because)
