"""From judged loads to facts of the job, and of each rank."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source, Value
from probes.files.expert_loads.judge import Judged
from probes.files.expert_loads.model import Loads

MOST_DEAD = 200
MOST_LAYERS = 512
FOUND_NONE = ("experts.uneven_layers", "experts.collapsed_layers")
"""Lists that are told where nothing is in them, too: that was looked for."""


def facts(found: Judged, loads: Loads, path: str) -> Iterator[Fact]:
    """Everything that the loads of one job say. Lists by layer are in the order of `experts.layer_names`."""
    layers = found.layers[:MOST_LAYERS]
    worst = max(layers, key=lambda layer: layer.ratio)
    busiest = max(range(len(worst.tokens)), key=lambda expert: worst.tokens[expert])
    dead = [f"{layer.name}:{expert}" for layer in layers for expert in layer.dead]
    experts = max(len(layer.tokens) for layer in layers)
    text = f"layer {worst.name}: expert {busiest} gets {worst.ratio:.3g} of the mean, by chance {worst.by_chance:.3g}"
    where = Source("table", path, 0, f"{len(layers)} layers of {experts} experts; {text}")
    values: dict[str, Value] = {
        "experts.layers": len(layers),
        "experts.count": experts,
        "experts.steps": found.steps,
        "experts.tokens": sum(sum(layer.tokens) for layer in layers),
        "experts.layer_names": tuple(layer.name for layer in layers),
        "experts.max_over_mean": tuple(round(layer.ratio, 4) for layer in layers),
        "experts.entropy": tuple(round(layer.entropy, 4) for layer in layers),
        "experts.worst_max_over_mean": worst.ratio,
        "experts.worst_by_chance": worst.by_chance,
        "experts.worst_layer": worst.name,
        "experts.usual_max_over_mean": found.usual,
        "experts.usual_by_chance": found.usual_by_chance,
        "experts.mean_excess": found.mean_excess,
        "experts.uneven_layers": tuple(layer.name for layer in layers if layer.uneven),
        "experts.collapsed_layers": tuple(layer.name for layer in layers if layer.collapsed),
        "experts.dead": len(dead),
        "experts.dead_experts": tuple(dead[:MOST_DEAD]),
        "experts.dead_share": len(dead) / sum(len(layer.tokens) for layer in layers),
        "experts.trend": found.trend,
        "experts.drift": found.drift,
        "experts.heat": tuple(_heat(layer.name, layer.tokens) for layer in layers),
    }
    for name, value in values.items():
        if value != () or name in FOUND_NONE:
            yield Fact(name, value, "job", where, None, Quality.MEASURED)
    for rank, tokens in loads.of_rank.items():
        own = Source("table", path, 0, f"rank {rank}: {tokens:.6g} tokens")
        yield Fact("experts.rank_tokens", tokens, f"rank:{rank}", own, None, Quality.MEASURED)
    if len(loads.of_rank) > 1:
        mean = sum(loads.of_rank.values()) / len(loads.of_rank)
        if mean > 0:
            most = max(loads.of_rank.values()) / mean
            yield Fact("experts.rank_max_over_mean", most, "job", where, None, Quality.MEASURED)


def _heat(name: str, tokens: tuple[float, ...]) -> str:
    """A row of the picture: the layer, then each expert's tokens over the mean."""
    mean = sum(tokens) / len(tokens)
    return f"{name}: " + " ".join(f"{value / mean:.3g}" for value in tokens)
