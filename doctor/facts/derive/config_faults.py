"""Sizes of a configuration that do not fit each other: what the framework would refuse, and the nearest legal value.

A fault is a text with the numbers in it. Only what is certain is one: a value stated in two ways in a file, a default
that the environment may replace, and what a run that took steps has disproved give none. When a program has already
told which check failed, the other checks are not guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd, lcm

from doctor.facts.derive.config_arithmetic import sources
from doctor.facts.derive.pipeline_layout import Split, fault
from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

MEGATRON = frozenset({"megatron", "nemo", "swift", "llamafactory", "slime", "verl"})
"""Frameworks that hand these sizes to Megatron Core; an unknown one with Megatron's settings is taken for it."""
TOLD = {
    "world": "parallel.world_indivisible",
    "layers": "pipeline.layers_indivisible",
    "heads": "tensor.heads_indivisible",
    "experts": "expert.indivisible",
    "batch": "batch.indivisible",
    "microbatches": "pipeline.interleaved_microbatches",
    "sequence": "sequence.indivisible",
}
"""The event by which a program itself tells each kind of fault."""
OTHER_TOLD = ("megatron.indivisible", "pipeline.too_few_microbatches", "deepspeed.batch_triangle")
STARTED = ("progress.step", "torch.cuda_oom", "model.parameters")
"""What is only seen after the sizes were accepted; micro-batches and tokens are checked at the first step."""
AT_FIRST_STEP = frozenset({"microbatches", "sequence"})
SIZES = tuple(
    f"config.{name}"
    for name in (
        *("world_size", "nnodes", "nproc_per_node", "framework", "tp", "pp", "cp", "ep", "etp", "dp", "vpp"),
        *("dp_shard", "dp_replicate", "ulysses", "layers_per_virtual_stage", "num_layers", "decoder_layers"),
        *("first_stage_layers", "last_stage_layers", "embedding_as_layer", "loss_as_layer", "pp_layout", "pp_uneven"),
        *("num_heads", "num_kv_heads", "num_experts", "micro_batch", "global_batch", "num_microbatches", "vp_group"),
        *("seq_len", "sequence_parallel", "packing", "dynamic_batch", "prompts_per_step", "num_generations"),
        *("grad_accum", "fsdp", "zero_stage"),
    )
)
NEEDS = (*SIZES, "run.steps", *(f"event:{name}" for name in (*TOLD.values(), *OTHER_TOLD, *STARTED)))
GIVES = (
    *(f"config.{kind}_fault" for kind in TOLD),
    *("config.legal_tp", "config.legal_pp", "config.legal_ep", "config.legal_global_batch", "config.legal_seq_len"),
)


@dataclass(slots=True)
class Sizes:
    """The job's settings, each only where all that was read agrees; `used` collects those that were asked for."""

    store: FactStore
    used: list[Fact]

    def get(self, name: str) -> Value | None:
        fact = sole(self.store, f"config.{name}")
        if fact is None:
            return None
        self.used.append(fact)
        return fact.value

    def count(self, name: str) -> int:
        """The size `name`; 0 where it is unknown."""
        value = self.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    def degree(self, name: str) -> int:
        """A parallel degree; 1 where nothing is said, 0 where several values are."""
        return self.count(name) or int(self.store.get(f"config.{name}") is None)

    def on(self, name: str) -> bool:
        return self.get(name) is True

    def framework(self) -> str:
        fact = self.store.get("config.framework")
        return str(fact.value) if fact else ""

    def megatron(self) -> bool:
        """Do these sizes go to Megatron Core?"""
        return self.framework() in MEGATRON | {""}

    def world(self) -> int:
        """Ranks; 0 where the number hangs on a default that a variable may replace."""
        for name in ("config.nnodes", "config.nproc_per_node"):
            part = self.store.get(name)
            if part is not None and part.quality is Quality.DERIVED and "$" in part.source.text:
                return 0
        return self.count("world_size")


def sole(store: FactStore, name: str) -> Fact | None:
    """The fact `name` of the job, unless different values of it were read."""
    known = [f for f in store.every(name) if f.quality not in (Quality.FAILED, Quality.DERIVED)]
    if len({(type(f.value), f.value) for f in known}) > 1:
        return None
    return store.get(name)


def world_fault(sizes: Sizes) -> str | None:
    """World = TP x PP x CP x DP; ParallelDims (torchtitan) and ParallelismConfig (Accelerate) state every factor."""
    world, framework = sizes.world(), sizes.framework()
    tp, pp, cp = (sizes.degree(name) for name in ("tp", "pp", "cp"))
    shard, replicate = sizes.count("dp_shard"), sizes.count("dp_replicate")
    if not (world and tp and pp and cp):
        return None
    model = tp * pp * cp
    names = f"TP {tp} x PP {pp} x CP {cp}"
    if framework in ("torchtitan", "accelerate") and shard:
        product = model * shard * max(replicate, 1)
        if product == world:
            return None
        return f"DP shard {shard} x DP replicate {max(replicate, 1)} x {names} = {product}, the world has {world} ranks"
    if model > 1 and world % model:
        return f"{world} ranks are not a multiple of {names} = {model}"
    return None


def layers_fault(sizes: Sizes) -> str | None:
    """Megatron wants equal stages unless a layout says otherwise; torchtitan and DeepSpeed take uneven ones."""
    layers, pp = sizes.count("num_layers"), sizes.count("pp")
    if not sizes.megatron() or pp < 2 or sizes.store.get("config.decoder_layers") is not None:
        return None
    layout = str(sizes.get("pp_layout") or "")
    first, last = sizes.count("first_stage_layers"), sizes.count("last_stage_layers")
    embedding, loss = sizes.on("embedding_as_layer"), sizes.on("loss_as_layer")
    by_hand = layout or first or last or embedding or loss
    uneven = sizes.store.get("config.pp_uneven")
    if not (layers or layout) or (uneven is not None and uneven.value is True and not by_hand):
        return None
    stated = [f for f in sizes.store.every("config.vpp") if f.quality is not Quality.DERIVED]
    vpp = sizes.count("vpp") if stated else 0
    per_virtual = sizes.count("layers_per_virtual_stage") if by_hand else 0
    return fault(Split(layers, pp, vpp, per_virtual, first, last, embedding, loss, layout))


def heads_fault(sizes: Sizes) -> str | None:
    """Heads % TP; key-value heads a multiple or, as Megatron Core copies them, a divisor of TP. Ulysses likewise."""
    heads, kv = sizes.count("num_heads"), sizes.count("num_kv_heads")
    for name, degree in (("TP", sizes.count("tp")), ("the Ulysses size", sizes.count("ulysses"))):
        if degree < 2:
            continue
        if heads % degree:
            return f"{heads} attention heads are not divisible by {name} {degree}"
        if kv % degree and degree % kv:
            return f"{kv} key-value heads are neither a multiple nor a divisor of {name} {degree}"
        if name == "TP" and kv % degree and sizes.framework() == "torchtitan":
            return f"{kv} key-value heads are not divisible by TP {degree}"
    return None


def experts_fault(sizes: Sizes) -> str | None:
    """Experts % EP, and the grid of the experts in the world: ETP x EP x PP, or for torchtitan EP in DP x CP x TP."""
    ep, experts, world = sizes.count("ep"), sizes.count("num_experts"), sizes.world()
    if ep < 2:
        return None
    if experts % ep:
        return f"{experts} experts are not divisible by EP {ep}"
    pp, tp, framework = sizes.degree("pp"), sizes.degree("tp"), sizes.framework()
    if not (world and pp and tp):
        return None
    if framework == "torchtitan":
        replicate = sizes.degree("dp_replicate")
        region = world // pp // replicate if replicate else 0
        if region and world % (pp * replicate) == 0 and region % ep:
            return f"EP {ep} does not divide DP shard x CP x TP = {region}"
        return None
    if framework in MEGATRON - {"llamafactory", "verl"}:
        etp = sizes.count("etp") or (_default_etp(framework, tp) if sizes.store.get("config.etp") is None else 0)
        grid = etp * ep * pp
        if grid and world % grid:
            return f"{world} ranks are not a multiple of ETP {etp} x EP {ep} x PP {pp} = {grid}"
        return None
    if ep > world:
        return f"EP {ep} is larger than the {world} ranks"
    return None


def _default_etp(framework: str, tp: int) -> int:
    """Megatron Core splits an expert over the tensor ranks unless told otherwise; ms-swift does not."""
    return 1 if framework == "swift" else tp


def batch_fault(sizes: Sizes) -> str | None:
    """Megatron: global batch % (micro-batch x DP). TRL: the generation batch holds whole groups. verl: a mini-batch."""
    framework, micro, dp = sizes.framework(), sizes.count("micro_batch"), sizes.count("dp")
    if framework in ("verl", "openrlhf", "slime") or sizes.on("dynamic_batch") or not sizes.world():
        return None
    whole = sizes.count("global_batch") if _stated(sizes.store, "config.global_batch") else 0
    if framework in ("trl", "hf"):
        per_step = micro * sizes.count("world_size") * sizes.count("grad_accum")
        group = sizes.count("num_generations")
        if per_step and group > 1 and per_step % group:
            return f"{per_step} completions a step are not divisible by num_generations {group}"
        return None
    known = framework in MEGATRON | {"torchtitan", ""} or (framework == "deepspeed" and not sizes.count("grad_accum"))
    if known and whole and micro and dp and whole % (micro * dp):
        return f"global batch {whole} is not divisible by micro-batch {micro} x DP {dp} = {micro * dp}"
    return None


def microbatches_fault(sizes: Sizes) -> str | None:
    """Interleaved 1F1B: groups of at least PP micro-batches, and no smaller remainder.

    Megatron-LM, core/pipeline_parallel/schedules.py: forward_backward_pipelining_with_interleaving.
    """
    pp, vpp, batches = sizes.count("pp"), sizes.count("vpp"), sizes.count("num_microbatches")
    if not sizes.megatron() or vpp < 2 or sizes.on("dynamic_batch"):
        return None
    if pp == 1:
        return f"VPP {vpp} needs PP above 1"
    group = sizes.count("vp_group") or pp
    if not (pp and batches and sizes.world()):
        return None
    if batches < group:
        return f"{batches} micro-batches are fewer than a group of {group} (PP {pp})"
    if 0 < batches % group < pp:
        return f"{batches} micro-batches leave {batches % group} after groups of {group}, fewer than PP {pp}"
    return None


def sequence_fault(sizes: Sizes) -> str | None:
    """Tokens % (2 x CP), and % TP of what is left with sequence parallelism. Trainers that pad to the multiple pass."""
    length, framework = sizes.count("seq_len"), sizes.framework()
    if not length or framework not in ("megatron", "torchtitan", ""):
        return None
    cp, tp = sizes.degree("cp"), sizes.degree("tp")
    ulysses = sizes.count("ulysses")
    if ulysses > 1:
        return f"{length} tokens are not divisible by the Ulysses size {ulysses}" if length % ulysses else None
    if cp > 1 and length % (2 * cp):
        return f"{length} tokens are not divisible by 2 x CP {cp} = {2 * cp}"
    if tp > 1 and cp and sizes.on("sequence_parallel") and length % (tp * cp):
        return f"{length} tokens are not divisible by TP {tp} x CP {cp} = {tp * cp} for sequence parallelism"
    return None


KINDS: dict[str, Callable[[Sizes], str | None]] = {
    "world": world_fault,
    "layers": layers_fault,
    "heads": heads_fault,
    "experts": experts_fault,
    "batch": batch_fault,
    "microbatches": microbatches_fault,
    "sequence": sequence_fault,
}


def derive(store: FactStore) -> Iterator[Fact]:
    """Faults of the job, and legal values near those that it has."""
    yield from _legal(store)
    if store.get("run.steps") is not None or any(store.events(name) for name in OTHER_TOLD):
        return
    told = {kind for kind, event in TOLD.items() if store.events(event)}
    open_kinds = told or (AT_FIRST_STEP if any(store.events(name) for name in STARTED) else set(KINDS))
    for kind in (kind for kind in KINDS if kind in open_kinds):
        sizes = Sizes(store, [])
        if (text := KINDS[kind](sizes)) is not None:
            yield Fact(
                f"config.{kind}_fault", text, "job", Source("derived"), None, Quality.DERIVED, sources(sizes.used)
            )


def _legal(store: FactStore) -> Iterator[Fact]:
    """Largest legal degrees not above the present ones; batch and length rounded up."""
    sizes = Sizes(store, [])
    tp, pp, cp, ep = (sizes.count(name) for name in ("tp", "pp", "cp", "ep"))
    world, layers = sizes.count("world_size"), sizes.count("num_layers")
    heads, kv, experts = sizes.count("num_heads"), sizes.count("num_kv_heads"), sizes.count("num_experts")
    micro, dp, batch = sizes.count("micro_batch"), sizes.count("dp"), sizes.count("global_batch")
    length = sizes.count("seq_len")
    unit = max(cp, 1) * lcm(2 if cp > 1 else 1, max(tp, 1) if sizes.on("sequence_parallel") else 1)
    group = micro * dp * (pp if sizes.count("vpp") > 1 and pp else 1)
    found = {
        "tp": divisor(gcd(heads, kv, world), tp),
        "pp": divisor(gcd(layers, world // gcd(world, max(tp, 1) * max(cp, 1)) if world else 0), pp),
        "ep": divisor(gcd(experts, world), ep),
        "global_batch": -(-batch // group) * group if batch and group else 0,
        "seq_len": -(-length // unit) * unit,
    }
    for name, value in found.items():
        if value:
            because = sources(sizes.used)
            yield Fact(f"config.legal_{name}", value, "job", Source("derived"), None, Quality.DERIVED, because)


def divisor(of: int, most: int) -> int:
    """The largest divisor of `of` that is not above `most`; 0 where either is unknown (0)."""
    return next((d for d in range(min(of, most, 4096), 0, -1) if of % d == 0), 0)


def _stated(store: FactStore, name: str) -> bool:
    return any(fact.quality is not Quality.DERIVED for fact in store.every(name))
