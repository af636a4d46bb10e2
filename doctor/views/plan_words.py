"""Names and numbers of plans: layouts, sizes, shares, settings of frameworks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from doctor.messages import say
from doctor.planner.frameworks import Framework
from doctor.planner.job import Job, Precision, Recompute, Sharding, Stack
from doctor.planner.knobs import STAGES_OF_ZERO
from doctor.planner.pareto import Candidate

GIB = 2.0**30
HALF = (Precision.BF16, Precision.FP16)
LONGEST = 76  # columns of a line of a command


def gib(count: float) -> str:
    """B as GiB, without unit: 79.2, or 1,156 where decimals tell nothing."""
    value = count / GIB
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"


def short(number: float) -> str:
    """70.6e9 -> 70.6 B, as model cards write it."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,.0f}"


def share(value: float) -> str:
    percent = 100 * value
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def seconds(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def change(ratio: float) -> str:
    """A ratio of times as a signed percentage: 0.92 -> -8 %."""
    return f"{100 * (ratio - 1):+.0f} %"


def degrees(job: Job) -> str:
    """`TP 8  PP 4  DP 2`: degrees above 1, tensor, pipeline and data parallelism always."""
    layout = job.layout
    names = ("tp", "cp", "pp", "vpp", "dp", "ep", "etp")
    shown = [name for name in names if getattr(layout, name) > 1 or name in ("tp", "pp", "dp")]
    if job.shape.moe is None:
        shown = [name for name in shown if name not in ("ep", "etp")]
    words = [f"{name.upper() if name != 'vpp' else 'vpp'} {getattr(layout, name)}" for name in shown]
    if layout.shard:
        words.append(f"shard {layout.shard}")
    return "  ".join(words)


def recompute(job: Job, lang: str) -> str:
    modules = ", ".join(sorted(job.recompute_modules))
    return say(lang, f"plan.recompute.{job.recompute.value}", modules=modules)


def value(setting: Any) -> str:
    """A setting's value as a person writes it."""
    if isinstance(setting, bool):
        return str(setting).lower()
    if isinstance(setting, frozenset):
        return "+".join(sorted(setting)) or "none"
    return "all" if setting is None else str(setting)


def risks(candidate: Candidate, lang: str) -> str:
    return ", ".join(say(lang, f"plan.risk.{risk}") for risk in candidate.risks)


def flags(job: Job, framework: Framework) -> list[str]:
    """The lines that set this layout in the framework's own terms."""
    writer = {"megatron": _megatron, "torchtitan": _torchtitan, "deepspeed": _deepspeed, "fsdp": _accelerate}
    return list(writer[framework.name](job))


def command(job: Job, framework: Framework, steps: int) -> list[str]:
    """A command that measures the layout, in lines that a shell joins; what only the user knows is in capitals."""
    settings = flags(job, framework)
    if framework.name == "fsdp":
        return _shell([*_launched(job), *settings[:-1], "SCRIPT ARGUMENTS", settings[-1], f"--max_steps {steps}"])
    run = [f"torchrun --nnodes {job.cluster.nodes} --nproc-per-node {min(job.cluster.per_node, job.cluster.gpus)}"]
    if job.cluster.nodes > 1:
        run.append("--rdzv-backend c10d --rdzv-endpoint HOST:29500")
    if framework.name == "megatron":
        lines = [*run, "pretrain_gpt.py ARGUMENTS", *settings, f"--train-iters {steps} --log-interval 1"]
    elif framework.name == "torchtitan":
        lines = [*run, "-m torchtitan.train ARGUMENTS", *settings, f"--training.steps {steps}"]
    else:  # settings stand in a file that the script is told of
        return [f"# {line}" for line in settings] + _shell([*run, f"SCRIPT ARGUMENTS --max_steps {steps}"])
    return _shell(lines)


def _shell(lines: list[str]) -> list[str]:
    """The parts of a command on lines that a shell joins."""
    joined: list[str] = []
    for line in lines:
        if joined and len(joined[-1]) + len(line) < LONGEST:
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return [line + " \\" for line in joined[:-1]] + joined[-1:]


def _megatron(job: Job) -> Iterator[str]:
    """Megatron-LM, megatron/training/arguments.py and core/transformer/transformer_config.py."""
    layout = job.layout
    yield f"--tensor-model-parallel-size {layout.tp}"
    if layout.sp:
        yield "--sequence-parallel"
    yield f"--pipeline-model-parallel-size {layout.pp}"
    if layout.vpp > 1:
        yield f"--num-virtual-stages-per-pipeline-rank {layout.vpp}"
    if layout.first:
        yield f"--decoder-first-pipeline-num-layers {layout.first}"
    if layout.last:
        yield f"--decoder-last-pipeline-num-layers {layout.last}"
    if layout.chunks:
        yield "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"
    if layout.cp > 1:
        yield f"--context-parallel-size {layout.cp}"
    if job.shape.moe:
        yield f"--expert-model-parallel-size {layout.ep} --expert-tensor-parallel-size {layout.etp}"
    if job.stack is Stack.MEGATRON_FSDP:
        strategy = "optim_grads_params" if job.sharding is Sharding.FULL else "optim_grads"
        yield f"--use-megatron-fsdp --data-parallel-sharding-strategy {strategy}"
    elif job.sharding is not Sharding.NONE:
        yield "--use-distributed-optimizer"
    yield f"--micro-batch-size {job.micro_batch} --global-batch-size {job.global_batch}"
    if job.recompute is Recompute.FULL:
        yield "--recompute-granularity full"
        yield "--recompute-method uniform --recompute-num-layers 1"
    elif job.recompute in (Recompute.MODULES, Recompute.SELECTIVE):
        modules = " ".join(sorted(job.recompute_modules)) or "core_attn"
        yield f"--recompute-granularity selective --recompute-modules {modules}"


def _torchtitan(job: Job) -> Iterator[str]:
    """torchtitan's command line while its configuration was TOML (torchtitan/config/job_config.py)."""
    layout, prefix = job.layout, "--parallelism."
    ranks = layout.dp * layout.cp
    yield f"{prefix}tensor_parallel_degree {layout.tp}"
    yield f"{prefix}pipeline_parallel_degree {layout.pp}"
    if layout.pp > 1:
        schedule = "Interleaved1F1B" if layout.vpp > 1 else "1F1B"
        yield f"{prefix}pipeline_parallel_schedule {schedule}"
        yield f"{prefix}pipeline_parallel_microbatch_size {job.micro_batch}"
        if layout.vpp > 1:
            yield f"{prefix}pipeline_parallel_layers_per_stage {job.shape.layers // (layout.pp * layout.vpp)}"
    if layout.cp > 1:
        yield f"{prefix}context_parallel_degree {layout.cp}"
    if layout.ep > 1:
        yield f"{prefix}expert_parallel_degree {layout.ep}"
    shard = layout.sharded_over // layout.cp if layout.sharded_over % layout.cp == 0 else layout.dp
    yield f"{prefix}data_parallel_shard_degree {shard}"
    yield f"{prefix}data_parallel_replicate_degree {ranks // layout.sharded_over}"
    local = job.micro_batch * (job.micro_batches if layout.pp > 1 else 1)
    yield f"--training.local_batch_size {local}"
    yield f"--training.global_batch_size {job.global_batch}"
    mode = {Recompute.FULL: "full", Recompute.OPERATORS: "selective"}.get(job.recompute, "none")
    yield f"--activation_checkpoint.mode {mode}"


def _deepspeed(job: Job) -> Iterator[str]:
    """DeepSpeed's JSON; recomputation is a matter of the model's code."""
    yield json.dumps(
        {
            "train_batch_size": job.global_batch,
            "train_micro_batch_size_per_gpu": job.micro_batch,
            "gradient_accumulation_steps": job.micro_batches,
            "zero_optimization": {"stage": STAGES_OF_ZERO.index(job.sharding)},
            **({job.precision.value: {"enabled": True}} if job.precision in HALF else {}),
        }
    )
    if job.recompute is Recompute.FULL:
        yield "model.gradient_checkpointing_enable()"


def _launched(job: Job) -> Iterator[str]:
    yield f"accelerate launch --num_machines {job.cluster.nodes} --num_processes {job.cluster.gpus}"
    if job.cluster.nodes > 1:
        yield "--machine_rank RANK_OF_NODE --main_process_ip HOST --main_process_port 29500"


def _accelerate(job: Job) -> Iterator[str]:
    """accelerate's command line for FSDP2 (accelerate/commands/launch.py), and what the script itself is told."""
    yield f"--use_fsdp --fsdp_version 2 --fsdp_reshard_after_forward {str(job.sharding is Sharding.FULL).lower()}"
    yield "--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP"  # without, all layers are gathered at once
    if job.precision in HALF:
        yield f"--mixed_precision {job.precision.value}"
    if job.recompute is Recompute.FULL:
        yield "--fsdp_activation_checkpointing true"
    if job.layout.shard:
        replicas = job.layout.dp // job.layout.shard
        yield f"--parallelism_config_dp_shard_size {job.layout.shard} --parallelism_config_dp_replicate_size {replicas}"
    yield f"--per_device_train_batch_size {job.micro_batch} --gradient_accumulation_steps {job.micro_batches}"
