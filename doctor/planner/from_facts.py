"""The job that facts describe, what had to be assumed for it, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from doctor.facts.store import FactStore
from doctor.planner.cluster import Cluster, Gpu
from doctor.planner.errors import PlanError, reason
from doctor.planner.families import by_name
from doctor.planner.hardware import gpu, node_of
from doctor.planner.job import Attention, Job, Loss, Optimizer, Precision, Recompute, Schedule, Sharding, Stack
from doctor.planner.knobs import STAGES_OF_ZERO
from doctor.planner.layout import Layout
from doctor.planner.shape import Moe, Shape
from doctor.rulebase.model import Text

USUAL_NODE = 8  # GPUs of an HGX or OAM node
GPT2_VOCABULARY = 50257  # Megatron-LM's default tokenizer (GPT2BPETokenizer)
MEGATRON = ("megatron", "nemo", "slime")
# These generate text with another engine on the same GPUs, which the models here know nothing of.
GENERATES = ("verl", "openrlhf", "slime")
STRATEGIES = {
    "full_shard": Sharding.FULL, "hybrid_shard": Sharding.FULL, "shard_grad_op": Sharding.GRADIENTS,
    "no_shard": Sharding.NONE, "_hybrid_shard_zero2": Sharding.GRADIENTS,
}  # fmt: skip
SCHEDULES = {
    "gpipe": Schedule.GPIPE, "1f1b": Schedule.ONE_F_ONE_B, "interleaved1f1b": Schedule.INTERLEAVED,
    "interleavedzerobubble": Schedule.ZB_H1, "zbvzerobubble": Schedule.ZB_V, "dualpipev": Schedule.DUALPIPE,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """job: None where facts do not suffice. assumed: (name of the fact, value taken). missing: names of the facts
    without which there is no job. problem: why what is known makes no job, None where it does."""

    job: Job | None
    framework: str = ""
    assumed: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    problem: Text | None = None


def understand(store: FactStore, **given: Any) -> Understood:
    """The job of the facts. `given` values, by names of the catalogue without `config.`, go before the facts: model,
    gpu_model, world_size, gpus_per_node, seq_len, global_batch ...; `shape` and `cluster` may be given whole."""
    facts = _Facts(store, {name: value for name, value in given.items() if value is not None})
    framework = str(facts.get("framework") or "")
    if framework in GENERATES or facts.get("num_generations") or facts.get("vllm_mode"):
        problem = reason("reason.generates", framework=framework or reason("reason.reinforcement"))
        return Understood(job=None, framework=framework, problem=problem)
    try:
        shape, cluster = _shape(facts), _cluster(facts)
        micro, seq = facts.number("micro_batch"), facts.number("seq_len") or facts.number("max_positions")
        facts.missing += [name for name, v in (("config.micro_batch", micro), ("config.seq_len", seq)) if not v]
        job = None
        if shape and cluster and micro and seq and not facts.missing:
            job = _job(facts, framework, shape, cluster, micro, seq)
    except PlanError as error:
        return Understood(job=None, framework=framework, assumed=tuple(facts.assumed), problem=error.text)
    return Understood(job=job, framework=framework, assumed=tuple(facts.assumed), missing=tuple(facts.missing))


@dataclass(slots=True)
class _Facts:
    store: FactStore
    given: dict[str, Any]
    assumed: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def get(self, name: str) -> Any:
        if name in self.given:
            return self.given[name]
        fact = self.store.get(f"config.{name}")
        return fact.value if fact else None

    def number(self, name: str) -> int:
        """A whole number of at least 1, else 0."""
        value = self.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    def word(self, name: str) -> str:
        value = self.get(name)
        return str(value).strip().lower() if value is not None else ""

    def assume(self, name: str, value: Any) -> Any:
        self.assumed.append((f"config.{name}", str(value)))
        return value


def _shape(facts: _Facts) -> Shape | None:
    """The model by name, with the sizes that are stated; without a known name by its sizes alone."""
    if "shape" in facts.given:
        return facts.given["shape"]  # type: ignore[no-any-return]
    model = facts.get("model")
    named = by_name(str(model)) if model else None
    sizes: dict[str, Any] = {
        field: facts.number(name)
        for field, name in (
            ("layers", "num_layers"), ("hidden", "hidden_size"), ("heads", "num_heads"), ("kv_heads", "num_kv_heads"),
            ("head_dim", "head_dim"), ("ffn", "ffn_hidden_size"), ("vocab", "vocab_size"),
        )
        if facts.number(name)
    }  # fmt: skip
    if named is not None:
        if sizes.get("layers", named.layers) != named.layers and named.moe:
            sizes.pop("vocab", None)
        return replace(named, **sizes)
    lacking = [f"config.{name}" for name in ("num_layers", "hidden_size", "num_heads") if not facts.number(name)]
    if lacking:
        facts.missing += ["config.model", *(lacking if len(lacking) < 3 else [])]
        return None
    gated = facts.get("gated_mlp")
    gated = bool(gated) if gated is not None else facts.assume("gated_mlp", False)
    sizes.setdefault("kv_heads", sizes["heads"])
    sizes.setdefault("head_dim", max(1, sizes["hidden"] // sizes["heads"]))
    if "ffn" not in sizes:
        sizes["ffn"] = facts.assume("ffn_hidden_size", 4 * sizes["hidden"])
    if "vocab" not in sizes:
        sizes["vocab"] = facts.assume("vocab_size", GPT2_VOCABULARY)
    tied = facts.get("tied_embeddings")
    name = str(facts.get("model") or "model")[:80]
    return Shape(name=name, gated=gated, tied=bool(tied), moe=_moe(facts, sizes["ffn"]), **sizes)


def _moe(facts: _Facts, ffn: int) -> Moe | None:
    experts = facts.number("num_experts")
    if experts < 2:
        return None
    topk = facts.number("moe_topk") or facts.assume("moe_topk", 2)
    return Moe(experts=experts, topk=topk, ffn=facts.number("moe_ffn_hidden_size") or ffn)


def _cluster(facts: _Facts) -> Cluster | None:
    if "cluster" in facts.given:
        return facts.given["cluster"]  # type: ignore[no-any-return]
    world = facts.number("world_size") or facts.number("nnodes") * facts.number("nproc_per_node")
    name = facts.get("gpu_model") or next((fact.value for fact in facts.store.every("gpu.name")), None)
    names = next((fact.value for fact in facts.store.every("node.gpu_names")), ())
    name = name or (names[0] if isinstance(names, tuple) and names else None)
    name = name or next((fact.value for fact in facts.store.every("trace.device_name")), None)
    total = _capacity(facts.store)
    facts.missing += [fact for fact, v in (("config.world_size", world), ("config.gpu_model", name or total)) if not v]
    if not world or not (name or total):
        return None
    per_node = facts.number("gpus_per_node")
    for fact in ("layout.gpus_per_node", "config.nproc_per_node", "node.gpu_count"):
        known = next((f.value for f in facts.store.every(fact)), None)
        per_node = per_node or (known if isinstance(known, int) and known > 0 else 0)
    if not per_node:
        per_node = min(world, USUAL_NODE)
        if world > per_node:
            facts.assume("gpus_per_node", per_node)
    per_node = min(per_node, world)
    if not name:
        return Cluster(gpu=_unnamed(total), gpus=world, per_node=per_node, nvlink_domain=per_node, nic_bandwidth=0)
    cluster = node_of(gpu(str(name)), world, per_node)
    if 0.5 < total / cluster.gpu.memory < 0.97:  # another version of the card
        cluster = replace(cluster, gpu=replace(cluster.gpu, memory=total))
    return cluster


def _capacity(store: FactStore) -> float:
    """B of a GPU by its own facts, or as PyTorch names it when memory runs out; 0 where nothing tells."""
    known: list[object] = [fact.value for fact in store.every("job.gpu_memory")]
    known += [event.fields.get("total") for event in store.events("torch.cuda_oom")]
    found = [float(value) for value in known if isinstance(value, int | float) and value > 0]
    return min(found, default=0.0)


def _unnamed(memory: float) -> Gpu:
    """A GPU of which the memory alone is known: enough for what fits, not for how long a step takes."""
    return Gpu(
        name="GPU", memory=memory, peak_bf16=None, peak_fp16=None, peak_fp8=None, memory_bandwidth=None, nvlink=None,
        pcie=None, source="", verified=False,
    )  # fmt: skip


def _job(facts: _Facts, framework: str, shape: Shape, cluster: Cluster, micro: int, seq: int) -> Job:
    stack = _stack(facts, framework)
    layout = _layout(facts, shape, cluster, stack)
    return Job(
        shape=shape,
        cluster=cluster,
        layout=layout,
        seq=seq,
        micro_batch=micro,
        global_batch=_global_batch(facts, micro, layout),
        stack=stack,
        sharding=_sharding(facts, stack),
        schedule=_schedule(facts, layout),
        precision=_precision(facts),
        optimizer=_optimizer(facts),
        attention=Attention.UNFUSED if facts.word("attention") in ("eager", "unfused", "local") else Attention.FLASH,
        loss=_loss(facts, stack),
        offload_optimizer=facts.get("offload_optimizer") is True,
        offload_parameters=facts.get("offload_param") is True,
        lora_rank=facts.assume("lora_rank", 16) if facts.get("lora") is True else 0,
        compile=facts.get("compile") is True,
        **_recompute(facts),
    )


def _stack(facts: _Facts, framework: str) -> Stack:
    if facts.get("megatron_fsdp") is True:
        return Stack.MEGATRON_FSDP
    if framework in MEGATRON or (framework == "swift" and facts.number("tp")):
        return Stack.MEGATRON
    if facts.number("zero_stage") or framework == "deepspeed":
        return Stack.DEEPSPEED
    if facts.get("fsdp") is True or framework in ("fsdp", "torchtitan"):
        return Stack.FSDP
    return Stack.DDP


def _layout(facts: _Facts, shape: Shape, cluster: Cluster, stack: Stack) -> Layout:
    tp, cp, pp = (facts.number(name) or 1 for name in ("tp", "cp", "pp"))
    inner = tp * cp * pp
    if cluster.gpus % inner:
        raise PlanError(reason("reason.ranks", tp=tp, cp=cp, pp=pp, inner=inner, gpus=cluster.gpus))
    dp = cluster.gpus // inner
    ep = facts.number("ep") or 1
    vpp = facts.number("vpp") or 1
    if not facts.number("vpp") and (each := facts.number("layers_per_virtual_stage")) and pp > 1:
        vpp = max(1, shape.layers // (pp * each))
    if facts.get("pp_layout"):
        facts.assume("pp_layout", "even split")
    shard = facts.number("dp_shard")
    if facts.word("fsdp_strategy").startswith("hybrid"):
        shard = shard or cluster.per_node
    experts = shape.moe is not None
    return Layout(
        tp=tp, cp=cp, pp=pp, dp=dp, vpp=vpp if pp > 1 else 1,
        ep=ep if experts else 1,
        etp=(facts.number("etp") or (tp if stack is Stack.MEGATRON else 1)) if experts else 1,
        sp=facts.get("sequence_parallel") is True and tp > 1,
        shard=shard if shard and shard < dp * cp and (dp * cp) % shard == 0 else 0,
        first=facts.number("first_stage_layers") if pp > 1 else 0,
        last=facts.number("last_stage_layers") if pp > 1 else 0,
    )  # fmt: skip


def _global_batch(facts: _Facts, micro: int, layout: Layout) -> int:
    """As stated; else as frameworks take it: accumulation as stated, or none."""
    stated = facts.number("global_batch")
    if stated:
        return stated
    steps = facts.number("grad_accum")
    whole = micro * (steps or 1) * layout.dp
    if not steps:
        facts.assume("global_batch", whole)
    return whole


def _sharding(facts: _Facts, stack: Stack) -> Sharding:
    if stack is Stack.DEEPSPEED:
        stage = facts.get("zero_stage")
        if stage is None:
            facts.assume("zero_stage", 0)
        return STAGES_OF_ZERO[stage if isinstance(stage, int) and 0 <= stage <= 3 else 0]
    if stack is Stack.FSDP:
        return STRATEGIES.get(facts.word("fsdp_strategy"), Sharding.FULL)
    if stack is Stack.MEGATRON_FSDP:
        return Sharding.FULL
    return Sharding.OPTIMIZER if facts.get("distributed_optimizer") is True else Sharding.NONE


def _schedule(facts: _Facts, layout: Layout) -> Schedule:
    if layout.pp == 1:
        return Schedule.ONE_F_ONE_B
    named = SCHEDULES.get("".join(char for char in facts.word("pp_schedule") if char.isalnum()))
    return named or (Schedule.INTERLEAVED if layout.vpp > 1 else Schedule.ONE_F_ONE_B)


def _precision(facts: _Facts) -> Precision:
    if facts.get("fp8") is True:
        return Precision.FP8
    word = facts.word("precision")
    found = next((p for p in (Precision.BF16, Precision.FP16, Precision.FP32) if p.value in word), None)
    return found or Precision(facts.assume("precision", "bf16"))


def _optimizer(facts: _Facts) -> Optimizer:
    word = facts.word("optimizer")
    if "8bit" in word:
        return Optimizer.ADAM_8BIT
    if "muon" in word:
        return Optimizer.MUON
    return Optimizer.SGD_MOMENTUM if word.startswith("sgd") else Optimizer.ADAM


def _loss(facts: _Facts, stack: Stack) -> Loss:
    if facts.get("fused_loss") is True:
        return Loss.FUSED
    return Loss.VOCAB_PARALLEL if stack in (Stack.MEGATRON, Stack.MEGATRON_FSDP) else Loss.EAGER


def _recompute(facts: _Facts) -> dict[str, Any]:
    word = facts.word("recompute")
    found = {"none": Recompute.NONE, "selective": Recompute.SELECTIVE, "full": Recompute.FULL}.get(word)
    if found is None:
        facts.assume("recompute", "none")
        return {"recompute": Recompute.NONE}
    block = found is Recompute.FULL and facts.word("recompute_method") == "block"
    return {"recompute": found, "recompute_layers": (facts.number("recompute_layers") or None) if block else None}
