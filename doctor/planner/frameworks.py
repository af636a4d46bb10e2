"""What a framework can do: the settings that a search may vary, and those that its jobs have as a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from doctor.planner.cluster import Cluster
from doctor.planner.errors import PlanError, hint, reason
from doctor.planner.job import Job, Loss, Recompute, Sharding, Stack
from doctor.planner.layout import Layout
from doctor.planner.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """tensor, pipeline, context, expert: it has that parallelism. shardings: what data-parallel ranks can share out.

    recomputes: from least to most recomputed. uneven: layers of the first and the last stage can be set apart.
    """

    name: str
    stack: Stack
    shardings: tuple[Sharding, ...]
    recomputes: tuple[Recompute, ...]
    tensor: bool = True
    pipeline: bool = True
    context: bool = True
    expert: bool = True
    interleaved: bool = True
    uneven: bool = False
    hybrid: bool = False
    loss: Loss = Loss.VOCAB_PARALLEL
    checkpoint_reshards: bool = True


# Megatron-LM: docs/user-guide (parallelism guide, dist_optimizer.md). Its distributed optimizer moves the same bytes as
# plain data parallelism and needs less memory, so a search uses it wherever there are ranks to share with.
# torchtitan: docs/composability.md, distributed/parallel_dims.py. DeepSpeed: runtime/pipe/engine.py (at most ZeRO-1
# with a pipeline); its pipeline needs a model written for it, so a search leaves it out. FSDP: torch/distributed/fsdp.
FRAMEWORKS: Mapping[str, Framework] = {
    framework.name: framework
    for framework in (
        Framework(
            name="megatron",
            stack=Stack.MEGATRON,
            shardings=(Sharding.OPTIMIZER,),
            recomputes=(Recompute.NONE, Recompute.MODULES, Recompute.FULL),
            uneven=True,
        ),
        Framework(
            name="torchtitan",
            stack=Stack.FSDP,
            shardings=(Sharding.FULL,),
            recomputes=(Recompute.NONE, Recompute.OPERATORS, Recompute.FULL),
            hybrid=True,
            loss=Loss.EAGER,
        ),
        Framework(
            name="fsdp",
            stack=Stack.FSDP,
            shardings=(Sharding.FULL, Sharding.GRADIENTS),
            recomputes=(Recompute.NONE, Recompute.FULL),
            tensor=False,
            pipeline=False,
            context=False,
            expert=False,
            hybrid=True,
            loss=Loss.EAGER,
        ),
        Framework(
            name="deepspeed",
            stack=Stack.DEEPSPEED,
            shardings=(Sharding.OPTIMIZER, Sharding.GRADIENTS, Sharding.FULL),
            recomputes=(Recompute.NONE, Recompute.FULL),
            tensor=False,
            pipeline=False,
            context=False,
            expert=False,
            loss=Loss.EAGER,
        ),
    )
}
SAME = {
    "nemo": "megatron", "megatron-bridge": "megatron", "megatron-lm": "megatron", "swift": "megatron",
    "accelerate": "fsdp", "hf": "deepspeed", "llamafactory": "deepspeed", "zero": "deepspeed",
}  # fmt: skip


def framework(name: str) -> Framework:
    """The framework of that name. Raises PlanError that names the nearest."""
    key = name.strip().lower()
    found = FRAMEWORKS.get(SAME.get(key, key))
    if found is None:
        near = hint(key, FRAMEWORKS)
        raise PlanError(reason("reason.framework", name=repr(name[:60]), hint=near, names=_names()))
    return found


def of_stack(stack: Stack, name: str = "") -> Framework:
    """The framework of a job that runs on that stack; `name` as its configuration gives it, which may be unknown."""
    named = FRAMEWORKS.get(SAME.get(name, name))
    if named is not None and named.stack is stack:
        return named
    plain = {Stack.FSDP: "fsdp", Stack.DEEPSPEED: "deepspeed", Stack.DDP: "fsdp"}
    return FRAMEWORKS[plain.get(stack, "megatron")]


def start(chosen: Framework, shape: Shape, cluster: Cluster, seq: int, global_batch: int) -> Job:
    """A job to begin a search with: as much data parallelism as the batch allows. Its layout need not be legal."""
    dp = gcd(cluster.gpus, global_batch)
    return template(chosen, shape, cluster, seq, global_batch, Layout(dp=dp, pp=cluster.gpus // dp))


def template(
    chosen: Framework, shape: Shape, cluster: Cluster, seq: int, global_batch: int, layout: Layout, micro_batch: int = 1
) -> Job:
    """A job with the framework's usual settings in that layout."""
    shares = layout.dp * layout.cp > 1
    return Job(
        shape=shape,
        cluster=cluster,
        layout=layout,
        seq=seq,
        micro_batch=micro_batch,
        global_batch=global_batch,
        stack=chosen.stack,
        sharding=chosen.shardings[0] if shares or chosen.stack is Stack.FSDP else Sharding.NONE,
        loss=chosen.loss,
    )


def _names() -> str:
    return ", ".join(FRAMEWORKS)
