"""The fullest GPU of a job, quickly: a bound that needs a few products, and the stages that can be the fullest."""

from __future__ import annotations

from functools import lru_cache

from doctor.planner.job import Job, Schedule
from doctor.planner.memory.breakdown import StageMemory, stage_memory
from doctor.planner.memory.states import states
from doctor.planner.parameters import RankParameters, layer_parameters
from doctor.planner.shape import Shape
from doctor.planner.stages import Chunk, stages


def peak(job: Job) -> StageMemory:
    """Memory of the stage whose high end is highest.

    Early stages hold most micro-batches and the embedding, the last one the logits; where the first was given fewer
    layers, the second may be fuller. The stages between are never fuller than their neighbours towards the first, for
    they hold as many layers and fewer micro-batches, unless layers differ: then all are looked at.
    """
    parts = stages(job)
    chosen = range(len(parts)) if _differ(job) else sorted({0, _second(job, parts), len(parts) - 1})
    return max((stage_memory(job, stage, parts[stage]) for stage in chosen), key=lambda memory: memory.high)


def least(job: Job) -> float:
    """B that the states of an average stage take: a lower bound of `peak`, without activations and buffers."""
    layout = job.layout
    dense, experts = in_layers(job.shape)
    held = RankParameters(
        layers=dense / (layout.tp * layout.pp), experts=experts / (layout.ep * layout.etp * layout.pp),
        embedding=0.0, head=0.0,
    )  # fmt: skip
    return states(job, held).total


@lru_cache(maxsize=256)
def in_layers(shape: Shape) -> tuple[float, float]:
    """Dense parameters and routed experts' parameters of all layers."""
    layers = [layer_parameters(shape, layer) for layer in range(shape.layers)]
    experts = sum(layer.experts for layer in layers)
    return sum(layer.total for layer in layers) - experts, experts


def _second(job: Job, parts: tuple[tuple[Chunk, ...], ...]) -> int:
    """The second stage where it may be fuller than the first, else the first."""
    if len(parts) < 3:
        return 0
    layers = [sum(chunk.layers for chunk in parts[stage]) for stage in (0, 1)]
    return int(layers[1] > layers[0] or (job.shape.moe is not None and job.shape.moe.dense_layers > 0))


def _differ(job: Job) -> bool:
    """Do stages between the first and the last differ in their layers?"""
    if len(set(job.layout.chunks[1:-1])) > 1 or job.schedule in (Schedule.ZB_V, Schedule.DUALPIPE):
        return True
    moe = job.shape.moe
    return moe is not None and (moe.every > 1 or moe.dense_layers > job.shape.layers // job.layout.pp)
