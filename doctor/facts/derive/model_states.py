"""How many bytes the states of the model take on a GPU and on a host.

States are parameters, gradients and what the optimizer keeps; activations, buffers and the CUDA context are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from doctor.facts.derive.config_arithmetic import sources
from doctor.facts.derive.model_sizes import params_from_name, params_from_shape
from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

SHAPE = (
    *("num_layers", "hidden_size", "vocab_size", "ffn_hidden_size", "gated_mlp", "num_heads", "num_kv_heads"),
    *("head_dim", "num_experts", "moe_ffn_hidden_size", "tied_embeddings"),
)
SETUP = (
    *("precision", "optimizer", "framework", "zero_stage", "zero_hpz", "fsdp", "fsdp_strategy", "dp_shard"),
    *("distributed_optimizer", "dp", "tp", "pp", "ep", "nnodes", "nproc_per_node", "offload_optimizer"),
    *("offload_param", "lora", "quantization", "trainable_params"),
)
NEEDS = tuple(f"config.{name}" for name in ("params", "model", *SHAPE, *SETUP))
GIVES = (
    *("config.params", "config.state_bytes", "config.state_bytes_per_gpu", "config.stage1_bytes_per_gpu"),
    "config.host_state_bytes_per_node",
)

ADAM = 12.0
"""Bytes a parameter of mixed-precision Adam: fp32 weights and two fp32 moments (ZeRO, 1910.02054, section 3.1)."""
LEAN_OPTIMIZERS = {"8bit": 6.0, "sgd": 8.0, "adafactor": 4.0}
"""The same with two 1-byte moments (Dettmers et al., 2110.02861), with one fp32 momentum, with factored moments."""
QUANTISED = {"4bit": 0.5, "8bit": 1.0}
BUFFERS = 1.5
"""DeepSpeed's additional_buffer_factor (runtime/zero/stage3.py, estimate_zero3_model_states_mem_needs)."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What decides the size of the states. Degrees are 1 where a configuration leaves them out; 0 is "not known"."""

    params: float
    precision: str = "bf16"
    optimizer: str = "adamw"
    framework: str = ""
    zero_stage: int | None = None
    zero_hpz: int = 1
    fsdp: bool = False
    fsdp_strategy: str = "full_shard"
    dp_shard: int = 0
    distributed_optimizer: bool = False
    dp: int = 0
    tp: int = 1
    pp: int = 1
    ep: int = 1
    nnodes: int = 0
    nproc_per_node: int = 0
    offload_optimizer: bool = False
    offload_param: bool = False
    lora: bool = False
    quantization: str = ""
    trainable_params: float = 0.0

    @property
    def stage(self) -> int:
        """The ZeRO stage that the sharding amounts to."""
        if self.zero_stage is not None:
            return self.zero_stage
        if self.fsdp:
            return {"no_shard": 0, "shard_optim": 1, "shard_grad_op": 2}.get(self.fsdp_strategy, 3)
        return 1 if self.distributed_optimizer else 0

    @property
    def bytes_per_param(self) -> tuple[float, float, float]:
        """Bytes of weights, gradients and optimizer for one trained parameter.

        Mixed precision and fp32 Adam both need 16 (2 + 2 + 12, 4 + 4 + 8; ZeRO, section 3.1). Megatron keeps fp32
        gradients: 18 with bf16, 20 with fp16 (Megatron-LM, docs, dist_optimizer.md).
        """
        kept = next((lean for name, lean in LEAN_OPTIMIZERS.items() if name in self.optimizer), ADAM)
        if self.precision == "fp32":
            return 4.0, 4.0, max(kept - 4.0, 0.0)
        if self.framework == "megatron" and self.stage < 2:
            return (2.0, 2.0, kept + 4.0) if self.precision == "fp16" else (2.0, 4.0, kept)
        return 2.0, 2.0, kept

    @property
    def frozen(self) -> bool:
        return self.lora or self.quantization in QUANTISED

    @property
    def frozen_bytes(self) -> float:
        return QUANTISED.get(self.quantization, 4.0 if self.precision == "fp32" else 2.0)


def state_bytes(setup: Setup) -> float:
    """Bytes of the states of one whole copy. With adapters the base is weights only, and the adapters train."""
    each = sum(setup.bytes_per_param)
    if setup.frozen:
        return setup.params * setup.frozen_bytes + setup.trainable_params * each
    return setup.params * each


def state_bytes_per_gpu(setup: Setup) -> float | None:
    """Bytes of states on one GPU; None where the sharding, or the share of the experts, is not known.

    TP and PP divide everything. Data parallelism divides by stage: 1 the optimizer, 2 also the gradients, 3 also the
    parameters (ZeRO, section 5: 4 + 12/d, 2 + 14/d, 16/d). What is offloaded takes nothing on the GPU; ZeRO-Offload
    moves gradients with the optimizer (2101.06840, section 4). hpZ adds a copy of the weights over fewer ranks.
    """
    stage, shards = setup.stage, setup.dp_shard or setup.dp
    if setup.ep > 1 or (stage >= 1 and not shards):
        return None
    weights, gradients, kept = setup.bytes_per_param
    by_stage = [shards if stage >= least else 1 for least in (3, 2, 1)]
    split = setup.tp * setup.pp
    if setup.frozen:
        base = 0.0 if setup.offload_param else setup.params * setup.frozen_bytes / by_stage[0]
        return (base + setup.trainable_params * (weights + gradients + kept)) / split
    on_gpu = 0.0 if setup.offload_param else weights / by_stage[0]
    on_gpu += 0.0 if setup.offload_optimizer and stage >= 2 else gradients / by_stage[1]
    on_gpu += 0.0 if setup.offload_optimizer else kept / by_stage[2]
    on_gpu += weights / setup.zero_hpz if setup.zero_hpz > 1 and stage == 3 else 0.0
    return setup.params / split * on_gpu


def host_state_bytes_per_node(setup: Setup) -> float | None:
    """Host memory a node for offloaded states, as DeepSpeed's estimators give it for models built under zero.Init.

    Stage 3: 18 bytes a parameter with parameters, 16 without, divided over the nodes (stage3.py). Stage 2:
    max(4 x all GPUs, 16) over the nodes (stage_1_and_2.py). Both times BUFFERS. None where nothing is offloaded.
    """
    if not setup.offload_optimizer or setup.frozen or not setup.nnodes:
        return None
    if setup.stage == 3:
        return setup.params * (18 if setup.offload_param else 16) / setup.nnodes * BUFFERS
    if not setup.nproc_per_node:
        return None
    return setup.params * max(4 * setup.nproc_per_node, 16 / setup.nnodes) * BUFFERS


def derive(store: FactStore) -> Iterator[Fact]:
    """Parameters and bytes of the job, and of each run that differs from it."""
    of_job: dict[str, Value] = {}
    for entity in ("job", *store.entities("run")):
        for fact in _of(store, entity):
            if entity == "job" or of_job.get(fact.name) != fact.value:
                yield fact
            if entity == "job":
                of_job[fact.name] = fact.value


def _of(store: FactStore, entity: str) -> list[Fact]:
    facts: list[Fact] = []
    params = store.get("config.params", entity)
    if params is None and (params := _params(store, entity)) is not None:
        facts.append(params)
    if params is None or isinstance(params.value, str | tuple) or not 0 < params.value < 1e15:
        return facts
    setup, used = _setup(store, entity, float(params.value))
    framework = store.get("config.framework", entity)
    if framework is None:
        return facts
    for name, value in (
        ("config.state_bytes", state_bytes(setup)),
        ("config.state_bytes_per_gpu", state_bytes_per_gpu(setup)),
        ("config.stage1_bytes_per_gpu", state_bytes_per_gpu(replace(setup, zero_stage=1, zero_hpz=1))),
        ("config.host_state_bytes_per_node", host_state_bytes_per_node(setup)),
    ):
        if value is not None:
            facts.append(_fact(name, value, entity, [params, *used]))
    return facts


def _params(store: FactStore, entity: str) -> Fact | None:
    shape = {name: fact for name in SHAPE if (fact := store.get(f"config.{name}", entity)) is not None}
    sizes = {name: int(fact.value) for name, fact in shape.items() if isinstance(fact.value, int) and fact.value >= 0}
    layers, hidden = sizes.get("num_layers", 0), sizes.get("hidden_size", 0)
    if layers and hidden and max(sizes.values()) < 1e8:
        value = params_from_shape(
            layers,
            hidden,
            vocab=sizes.get("vocab_size", 0),
            ffn=sizes.get("ffn_hidden_size", 0),
            gated=bool(sizes.get("gated_mlp", 0)),
            heads=sizes.get("num_heads", 0),
            kv_heads=sizes.get("num_kv_heads", 0),
            head_dim=sizes.get("head_dim", 0),
            experts=sizes.get("num_experts", 0),
            expert_ffn=sizes.get("moe_ffn_hidden_size", 0),
            tied=bool(sizes.get("tied_embeddings", 0)),
        )
        return _fact("config.params", value, entity, list(shape.values()))
    model = store.get("config.model", entity)
    size = params_from_name(str(model.value)) if model else None
    return _fact("config.params", size, entity, [model]) if model and size else None


def _setup(store: FactStore, entity: str, params: float) -> tuple[Setup, list[Fact]]:
    """The setup as far as it is known, and the facts it was read from."""
    found = {name: fact for name in SETUP if (fact := store.get(f"config.{name}", entity)) is not None}
    values: dict[str, Value] = {name: fact.value for name, fact in found.items()}
    return Setup(params=params, **values), list(found.values())  # type: ignore[arg-type]


def _fact(name: str, value: Value, entity: str, inputs: list[Fact]) -> Fact:
    return Fact(name, value, entity, Source("derived"), None, Quality.DERIVED, sources(inputs))
