"""A training job as the planner sees it: model, machines, layout and every switch that costs memory or time."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from doctor.planner.cluster import Cluster
from doctor.planner.errors import PlanError, reason
from doctor.planner.layout import Layout
from doctor.planner.shape import Shape


class Sharding(StrEnum):
    """What data-parallel ranks share out among them."""

    NONE = "none"
    OPTIMIZER = "optimizer"  # ZeRO-1, Megatron's distributed optimizer
    GRADIENTS = "gradients"  # ZeRO-2, FSDP shard_grad_op
    FULL = "full"  # ZeRO-3, FSDP full_shard


class Stack(StrEnum):
    """Whose code runs: it decides dtypes of gradients, how logits are kept, how memory is reserved."""

    MEGATRON = "megatron"
    MEGATRON_FSDP = "megatron_fsdp"  # layers of Megatron, states sharded as FSDP does
    FSDP = "fsdp"
    DEEPSPEED = "deepspeed"
    DDP = "ddp"


class Precision(StrEnum):
    """Of the matrix products. FP8 keeps bf16 parameters and activations unless the framework says otherwise."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    FP8 = "fp8"


class Optimizer(StrEnum):
    ADAM = "adam"
    ADAM_8BIT = "adam_8bit"
    SGD = "sgd"
    SGD_MOMENTUM = "sgd_momentum"
    MUON = "muon"


class Attention(StrEnum):
    FLASH = "flash"  # and other kernels that never keep the score matrix
    UNFUSED = "unfused"


class Loss(StrEnum):
    """How the loss over the vocabulary is computed."""

    EAGER = "eager"  # logits in fp32, their softmax and its gradient
    VOCAB_PARALLEL = "vocab_parallel"  # Megatron: in place, over the TP group
    FUSED = "fused"  # one kernel, logits in place
    CHUNKED = "chunked"  # the whole logits never exist


class Schedule(StrEnum):
    GPIPE = "gpipe"
    ONE_F_ONE_B = "1f1b"
    INTERLEAVED = "interleaved"
    ZB_H1 = "zb-h1"
    ZB_V = "zb-v"
    DUALPIPE = "dualpipe"


class Recompute(StrEnum):
    NONE = "none"
    SELECTIVE = "selective"  # the core of attention only (Korthikanti et al., 2205.05198)
    OPERATORS = "operators"  # torchtitan: products are kept, every second one recomputed
    MODULES = "modules"  # Megatron --recompute-modules
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One training job. seq: tokens of a sequence; micro_batch, global_batch: sequences.

    recompute_layers: layers that are recomputed a stage, None for all of them. recompute_modules: names as in
    Megatron's --recompute-modules (core_attn, mlp, moe, moe_act, layernorm, mla_up_proj). imbalance: load of the
    busiest expert rank over the mean. lora_rank: 0 for full training. vocab_multiple: the vocabulary is padded to a
    multiple of this times tp (Megatron --make-vocab-size-divisible-by). fused_grads: the products of the backward pass
    add to the gradient buffer themselves (Megatron's gradient accumulation fusion). fp8_parameters: parameters are kept
    in FP8 (Megatron --fp8-param-gather).
    """

    shape: Shape
    cluster: Cluster
    layout: Layout
    seq: int
    micro_batch: int
    global_batch: int
    stack: Stack = Stack.MEGATRON
    precision: Precision = Precision.BF16
    grad_bytes: int = 4  # Megatron and FSDP reduce in fp32 unless told otherwise
    optimizer: Optimizer = Optimizer.ADAM
    master_weights: bool = True
    sharding: Sharding = Sharding.NONE
    schedule: Schedule = Schedule.ONE_F_ONE_B
    attention: Attention = Attention.FLASH
    loss: Loss = Loss.VOCAB_PARALLEL
    recompute: Recompute = Recompute.NONE
    recompute_layers: int | None = None
    recompute_modules: frozenset[str] = field(default_factory=frozenset)
    dropout: bool = False
    offload_optimizer: bool = False
    offload_parameters: bool = False
    offload_activations: bool = False
    lora_rank: int = 0
    imbalance: float = 1.0
    compile: bool = False
    vocab_multiple: int = 128
    fused_grads: bool = True
    fp8_parameters: bool = False

    def __post_init__(self) -> None:
        for name in ("seq", "micro_batch", "global_batch", "vocab_multiple"):
            if getattr(self, name) < 1:
                raise PlanError(reason("reason.least", name=name, value=getattr(self, name)))
        if self.layout.world != self.cluster.gpus:
            degrees = {name: getattr(self.layout, name) for name in ("tp", "cp", "pp", "dp", "world")}
            raise PlanError(reason("reason.world", gpus=self.cluster.gpus, **degrees))
        per_pass = self.micro_batch * self.layout.dp
        if self.global_batch % per_pass:
            batch, micro, dp = self.global_batch, self.micro_batch, self.layout.dp
            raise PlanError(reason("reason.batch", batch=batch, micro=micro, dp=dp, whole=per_pass))

    @property
    def micro_batches(self) -> int:
        """Micro-batches that one data-parallel rank runs for an optimizer step."""
        return self.global_batch // (self.micro_batch * self.layout.dp)

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch on one rank, before tensor parallelism splits anything."""
        return self.micro_batch * self.seq // self.layout.cp
