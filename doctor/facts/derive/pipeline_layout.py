"""How layers are dealt out to pipeline stages, and what is wrong where they cannot be."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 20_000
"""Characters of an unrolled layout beyond which it is not read: no model has as many layers."""


@dataclass(frozen=True, slots=True)
class Split:
    """What Megatron is told about the layers: sizes are 0 and switches off where nothing is said."""

    layers: int
    pp: int
    vpp: int = 0
    per_virtual: int = 0
    first: int = 0
    last: int = 0
    embedding: bool = False
    loss: bool = False
    layout: str = ""


def fault(split: Split) -> str | None:
    """What Megatron would refuse, with the numbers; None where the layers can be dealt out.

    Megatron-LM, megatron/training/arguments.py (validate_args) and megatron/core/transformer/transformer_config.py.
    """
    if split.layout:
        return _layout_fault(split)
    if split.first or split.last:
        return _uneven_fault(split)
    counted = split.layers + split.embedding + split.loss
    name = f"num_layers {split.layers}"
    if counted != split.layers:
        extra = " and ".join(what for what, on in (("embedding", split.embedding), ("loss", split.loss)) if on)
        name += f" with the {extra} as layers, {counted},"
    if counted % split.pp:
        return f"{name} is not divisible by PP {split.pp}"
    stage = counted // split.pp
    if split.per_virtual and stage % split.per_virtual:
        return f"the {stage} layers of a stage are not divisible by {split.per_virtual} layers a virtual stage"
    if split.vpp and stage % split.vpp:
        return f"{name} is not divisible by PP {split.pp} x VPP {split.vpp} = {split.pp * split.vpp}"
    return None


def _uneven_fault(split: Split) -> str | None:
    """The first and last stage have layers of their own; those between must divide over the stages between."""
    if split.embedding or split.loss:
        return "layers of the first or last stage and embedding or loss as layers exclude each other"
    left = split.layers - split.first - split.last
    stages = split.pp - bool(split.first) - bool(split.last)
    given = " and ".join(f"{n} on the {end} stage" for n, end in ((split.first, "first"), (split.last, "last")) if n)
    if bool(left) != bool(stages) or left < 0 or stages < 0:
        return f"{given} of {split.layers} layers leave {left} layers for {stages} stages between"
    if stages and left % stages:
        return f"{given} of {split.layers} layers leave {left}, not divisible over {stages} stages between"
    for count in (split.first, split.last, left // stages if stages else 0):
        if split.vpp and count % split.vpp:
            return f"a stage of {count} layers is not divisible by VPP {split.vpp}"
    return None


def _layout_fault(split: Split) -> str | None:
    stages = unrolled(split.layout)
    if stages is None:
        return None
    layers = sum(stage.count("t") for stage in stages)
    if len(stages) % split.pp:
        return f"the layout has {len(stages)} stages, not a multiple of PP {split.pp}"
    if split.layers and layers != split.layers:
        return f"the layout places {layers} layers, the model has {split.layers}"
    return None


def unrolled(layout: str) -> list[str] | None:
    """The stages of a layout such as `Et*3|(tt|)*29,m|L`; None where it is no such text or too long.

    Letters: E embedding, t layer, m multi-token prediction, L loss (Megatron-LM, pipeline_parallel_layer_layout.py).
    """
    text = layout.strip("\"'").replace(",", "").replace(" ", "")
    if len(text) > 2000 or not re.fullmatch(r"[EtmL|()*\d]+", text):
        return None
    for pattern in (r"\(([^()]+)\)\*(\d{1,4})", r"([EtmL|])\*(\d{1,4})"):
        parts, at, size = [], 0, 0
        for found in re.finditer(pattern, text):
            parts += [
                text[at : found.start()],
                found[1] * int(found[2]) if len(found[1]) * int(found[2]) < LONGEST else "",
            ]
            at = found.end()
            size += len(parts[-1]) + len(parts[-2])
            if size > LONGEST or not parts[-1]:
                return None
        text = "".join(parts) + text[at:]
    return text.split("|") if re.fullmatch(r"[EtmL|]+", text) else None
