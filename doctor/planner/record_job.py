"""The job that a record of a published measurement describes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from doctor.planner.cluster import Cluster, Gpu
from doctor.planner.errors import PlanError, reason
from doctor.planner.hardware import TERA, gpu, node_of
from doctor.planner.job import Attention, Job, Loss, Optimizer, Precision, Recompute, Schedule, Sharding, Stack
from doctor.planner.layout import Layout
from doctor.planner.record_fields import LARGEST, Fields, whole
from doctor.planner.shape import Mla, Moe, Norm, Shape

# Vocabularies of tokenizers that Megatron-LM's functional tests name without a size.
VOCABULARIES = {
    "None": 50257,  # GPT-2 BPE, Megatron's default
    "GPT2BPETokenizer": 50257,
    "Llama2Tokenizer": 32000,
    "GPTSentencePieceTokenizer": 256000,  # the Nemotron tokenizer of the release tests
}
MLA_NAMES = {
    "q_lora": ("q_lora", "q-lora-rank"),
    "kv_lora": ("kv_lora", "kv-lora-rank"),
    "qk_nope": ("qk_nope", "qk-head-dim"),
    "qk_rope": ("qk_rope", "qk-pos-emb-head-dim"),
    "v_dim": ("v_dim", "v-head-dim"),
}
MODULES = {
    "layernorm": "layernorm",
    "norm": "layernorm",
    "moe": "moe",
    "act": "moe_act",
    "moe_act": "moe_act",
    "mlp": "mlp",
    "core_attn": "core_attn",
    "attn": "core_attn",
    "mla_up_proj": "mla_up_proj",
    "up_proj": "mla_up_proj",
    "shared_experts": "shared_experts",
}
OFF = (None, False, 0, "none", "null", "off", "no", "")
STAGE_OF_ZERO = {0: Sharding.NONE, 1: Sharding.OPTIMIZER, 2: Sharding.GRADIENTS, 3: Sharding.FULL}


def job_of(fields: Fields) -> Job:
    """The job of a record. Raises PlanError with the reason why the record cannot be modelled."""
    shape, layout = shape_of(fields), layout_of(fields)
    micro = _micro_batch(fields, layout)
    recompute, layers, modules = recompute_of(fields, layout, shape)
    precision = precision_of(fields)
    stack = stack_of(fields)
    half = stack is Stack.FSDP and fields.text("train", "mp_mode") == "pure"
    return Job(
        shape=shape,
        cluster=cluster_of(fields, layout),
        layout=layout,
        seq=fields.whole("model", "seq"),
        micro_batch=micro,
        global_batch=_global_batch(fields, layout, micro),
        stack=stack,
        precision=precision,
        grad_bytes=2 if half else 4,
        optimizer=Optimizer.MUON if "muon" in str(fields.flag("optimizer")).lower() else Optimizer.ADAM,
        sharding=_sharding(fields),
        schedule=_schedule(fields, layout),
        attention=_attention(fields),
        loss=_loss(fields, stack),
        recompute=recompute,
        recompute_layers=layers,
        recompute_modules=modules,
        dropout=_dropout(fields),
        imbalance=fields.imbalance(),
        lora_rank=16 if fields.text("train", "phase") == "lora" else 0,
        offload_activations=fields.get("train", "act_offload") is True,
        compile=fields.get("train", "compile") is True,
        vocab_multiple=_flag_number(fields, "make-vocab-size-divisible-by", 128),
        fused_grads=stack is Stack.MEGATRON and not fields.flag("no-gradient-accumulation-fusion"),
        fp8_parameters=bool(fields.flag("fp8-param-gather")),
    )


def shape_of(fields: Fields) -> Shape:
    """The model of a record."""
    model = fields.section("model")
    if model.get("arch") is not None:
        raise PlanError(reason("record.arch", value=repr(str(model["arch"])[:60])))
    hidden, heads = fields.whole("model", "hidden"), fields.whole("model", "heads")
    name = str(model.get("name", "model"))[:80]
    moe = _moe(fields)
    return Shape(
        name=name,
        layers=fields.whole("model", "layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=heads if model.get("mla") else fields.whole("model", "kv_heads", heads),
        head_dim=fields.whole("model", "head_dim", hidden // max(1, heads)),
        ffn=fields.whole("model", "ffn", 4 * hidden),
        vocab=_vocab(fields),
        gated=model.get("gated", True) is not False,
        tied=model.get("tied_embedding") is True,
        norm=Norm.LAYER if model.get("rmsnorm", model.get("gated", True)) is False else Norm.RMS,
        bias=model.get("bias") is True,
        learned_positions=fields.whole("model", "pos_emb_learned", 0),
        mtp_layers=_flag_number(fields, "mtp-num-layers", fields.whole("model", "mtp_layers", 0)),
        moe=moe,
        mla=_mla(fields),
    )


def layout_of(fields: Fields) -> Layout:
    """The layout of a record; Megatron's ways to write an uneven split are read from its flags."""
    degrees = {name: fields.whole("parallel", name, 1) or 1 for name in ("tp", "cp", "pp", "vpp", "ep", "etp")}
    world = fields.whole("hardware", "count")
    inner = degrees["tp"] * degrees["cp"] * degrees["pp"]
    dp = fields.whole("parallel", "dp", max(1, world // inner)) or 1
    shard = fields.whole("parallel", "fsdp", 0)
    instances = _flag_number(fields, "num-distributed-optimizer-instances", 1)
    if instances > 1:
        shard = dp * degrees["cp"] // instances
    chunks = _written_out(fields, degrees["pp"]) or _counting_ends(fields, degrees["pp"], degrees["vpp"])
    if chunks:
        degrees["vpp"] = len(chunks) // degrees["pp"]
    if "unstated" in fields.text("parallel", "vpp_note"):
        fields.assumed.append(f"vpp: {degrees['vpp']} (unstated)")
    etp = degrees["etp"] if fields.get("model", "moe") else 1
    return Layout(
        **{**degrees, "etp": etp, "ep": degrees["ep"] if fields.get("model", "moe") else 1},
        dp=dp,
        sp=fields.get("parallel", "sp") is True and degrees["tp"] > 1,
        shard=0 if shard >= dp * degrees["cp"] else shard,
        first=_flag_number(fields, "decoder-first-pipeline-num-layers", 0),
        last=_flag_number(fields, "decoder-last-pipeline-num-layers", 0),
        chunks=chunks,
    )


def cluster_of(fields: Fields, layout: Layout) -> Cluster:
    """The machines of a record. A GPU that is not in the table is taken as the record describes it."""
    name, count = str(fields.get("hardware", "gpu") or "")[:80], fields.whole("hardware", "count")
    if name == "unstated":
        fields.assumed.append("gpu: A100-SXM4-80GB (unstated)")
        name = "A100"
    per_node = min(fields.whole("hardware", "per_node", 8) or 8, count)
    words = name.split("-")
    for length in range(len(words), 0, -1):
        try:
            entry = gpu("-".join(words[:length]))
            break
        except PlanError:
            continue
    else:
        raise PlanError(reason("record.gpu", value=repr(name)))
    cluster = node_of(entry, count, per_node, nic_bandwidth=None if entry.nvlink else 12.5e9 * per_node)
    if length < len(words):
        cluster = replace(cluster, gpu=_described(fields, entry, name))
    return cluster


def _described(fields: Fields, entry: Gpu, name: str) -> Gpu:
    memory, peak = fields.get("hardware", "mem_gb"), fields.get("hardware", "peak_bf16")
    return replace(
        entry,
        name=name,
        memory=memory * 2**30 * 0.99 if isinstance(memory, int | float) else entry.memory,
        peak_bf16=peak * TERA if isinstance(peak, int | float) and peak > 0 else entry.peak_bf16,
        verified=False,
    )


def recompute_of(fields: Fields, layout: Layout, shape: Shape) -> tuple[Recompute, int | None, frozenset[str]]:
    """What is recomputed, as written by the publisher of the record."""
    words = fields.text("train", "recompute")
    plain: tuple[int | None, frozenset[str]] = (None, frozenset())
    named = fields.flag("recompute-modules")
    if isinstance(named, str):
        words = f"modules {named}"
    if words in ("", "none", "false"):
        return Recompute.NONE, *plain
    if words == "unstated":
        fields.assumed.append("recompute: none (unstated)")
        return Recompute.NONE, *plain
    if "none vs" in words:
        raise PlanError(reason("record.two_runs", value=repr(words)))
    if "layer" in words.split("-"):
        stage = -(-shape.layers // layout.pp)
        return Recompute.FULL, stage // 2, frozenset()
    if words.startswith("full"):
        block = fields.flag("recompute-method") == "block"
        layers = _flag_number(fields, "recompute-num-layers", 0) * layout.vpp if block else 0
        return Recompute.FULL, layers or None, frozenset()
    if "-op" in words or (words.startswith("selective") and stack_of(fields) is Stack.FSDP):
        return Recompute.OPERATORS, *plain
    found = frozenset(MODULES[word] for word in re.findall(r"[a-z_]+", words) if word in MODULES)
    if found:
        return Recompute.MODULES, None, found
    if words.startswith("selective") or words.endswith("selective"):
        return Recompute.SELECTIVE, *plain
    if words == "sp":
        return Recompute.NONE, *plain
    raise PlanError(reason("record.recompute", value=repr(words[:60])))


def precision_of(fields: Fields) -> Precision:
    """Number format of the matrix products; a format below 8 bits is taken as FP8."""
    words = fields.text("train", "precision")
    if words == "fp32":  # the products alone may be in FP8
        return Precision.FP32
    if fields.flag("fp8-format") or "fp8" in words:
        return Precision.FP8
    if "fp4" in words:
        fields.assumed.append(f"precision: fp8 instead of {words}")
        return Precision.FP8
    for name, precision in (("bf16", Precision.BF16), ("fp16", Precision.FP16), ("fp32", Precision.FP32)):
        if name in words:
            return precision
    if words in ("", "unstated"):
        fields.assumed.append("precision: bf16 (unstated)")
        return Precision.BF16
    raise PlanError(reason("record.precision", value=repr(words[:40])))


def stack_of(fields: Fields) -> Stack:
    """Whose code ran."""
    sharded = fields.whole("parallel", "fsdp", 0) > 0
    megatron = "megatron" in str(fields.get("source", "repo")).lower()
    if fields.flag("use-megatron-fsdp") or (sharded and (megatron or fields.text("train", "phase"))):
        return Stack.MEGATRON_FSDP
    if fields.whole("parallel", "fsdp", 0) > 0:
        return Stack.FSDP
    zero = fields.whole("parallel", "zero", 0)
    if zero >= 2:
        return Stack.DEEPSPEED
    return Stack.MEGATRON


def _sharding(fields: Fields) -> Sharding:
    if fields.flag("use-megatron-fsdp"):
        fields.assumed.append("sharding: full (strategy of Megatron-FSDP unstated)")
        return Sharding.FULL
    zero = fields.whole("parallel", "zero", 0)
    if zero not in STAGE_OF_ZERO:
        raise PlanError(reason("record.zero", value=zero))
    if zero == 0 and fields.get("parallel", "dist_opt") is True:
        return Sharding.OPTIMIZER
    return STAGE_OF_ZERO[zero]


def _schedule(fields: Fields, layout: Layout) -> Schedule:
    words = fields.text("train", "schedule")
    if "gpipe" in words:
        return Schedule.GPIPE
    if "dualpipe" in words:
        return Schedule.DUALPIPE
    if "zbv" in words or "zb-v" in words:
        return Schedule.ZB_V
    if "zb" in words:
        return Schedule.ZB_H1
    return Schedule.INTERLEAVED if layout.vpp > 1 or "interleaved" in words else Schedule.ONE_F_ONE_B


def _attention(fields: Fields) -> Attention:
    if fields.get("model", "flash") is False or fields.flag("attention-backend") == "unfused":
        return Attention.UNFUSED
    if fields.flag("transformer-impl") == "local" and not fields.flag("use-flash-attn"):
        return Attention.UNFUSED
    return Attention.FLASH


def _loss(fields: Fields, stack: Stack) -> Loss:
    if fields.flag("cross-entropy-loss-fusion"):
        return Loss.FUSED if fields.flag("cross-entropy-fusion-impl") == "te" else Loss.VOCAB_PARALLEL
    if fields.get("train", "ce_fusion") is True:
        return Loss.FUSED
    if fields.get("model", "alibi") is True:  # llm-foundry's MPT computes its loss in one kernel by default
        return Loss.FUSED
    return Loss.EAGER if stack is Stack.FSDP else Loss.VOCAB_PARALLEL


def _dropout(fields: Fields) -> bool:
    """Megatron drops 10 % unless its flags say otherwise; papers of that time did; others do not."""
    if not fields.megatron_test:
        return fields.get("model", "flash") is False
    return any(fields.flag(name) != 0 for name in ("attention-dropout", "hidden-dropout"))


def _micro_batch(fields: Fields, layout: Layout) -> int:
    """Sequences of a micro-batch; torchtitan cuts a rank's batch into as many as there are pipeline stages."""
    local = re.fullmatch(r"unstated \(local batch (\d{1,6})\)", fields.text("train", "mbs"))
    if not local:
        return fields.whole("train", "mbs")
    micro = max(1, int(local[1]) // layout.pp)
    fields.assumed.append(f"micro_batch: {micro} (one for each of {layout.pp} stages)")
    return micro


def _global_batch(fields: Fields, layout: Layout, micro: int) -> int:
    value = fields.get("train", "gbs")
    if isinstance(value, int) and not isinstance(value, bool):
        return fields.whole("train", "gbs")
    micros = max(1, 4 * layout.pp)
    fields.assumed.append(f"global_batch: {micros} micro-batches ({value if value else 'missing'})")
    return micro * layout.dp * micros


def _vocab(fields: Fields) -> int:
    if fields.get("model", "vocab") is not None:
        return fields.whole("model", "vocab")
    tokenizer = str(fields.get("model", "tokenizer"))
    if tokenizer not in VOCABULARIES:
        raise PlanError(reason("record.vocab", tokenizer=repr(tokenizer[:40])))
    fields.assumed.append(f"vocab: {VOCABULARIES[tokenizer]} (tokenizer)")
    return VOCABULARIES[tokenizer]


def _moe(fields: Fields) -> Moe | None:
    values = fields.get("model", "moe")
    if not isinstance(values, dict):
        return None
    layers = fields.whole("model", "layers")
    dense, every = _pattern(values.get("layer_freq"), layers)
    return Moe(
        experts=whole(values, "experts", "model.moe.experts"),
        topk=whole(values, "topk", "model.moe.topk"),
        ffn=whole(values, "ffn", "model.moe.ffn"),
        shared_ffn=whole(values, "shared_ffn", "model.moe.shared_ffn", 0),
        dense_layers=whole(values, "dense_layers", "model.moe.dense_layers", 0) or dense,
        every=every,
    )


def _pattern(text: Any, layers: int) -> tuple[int, int]:
    """Dense layers first, and every how-many-th layer has experts, from Megatron's --moe-layer-freq."""
    words = str(text if text is not None else 1).replace(" ", "").strip("()")
    if words.isdigit() and 0 < int(words) < 1000:
        return 0, int(words)
    pattern: list[str] = []
    for part in words.split("+"):
        match = re.fullmatch(r"\[([01](?:,[01]){0,200})\](?:\*(\d{1,4}))?", part)
        if not match:
            raise PlanError(reason("record.layer_freq", value=repr(words[:60])))
        pattern += match[1].split(",") * min(int(match[2] or 1), layers)
    dense = pattern.index("1") if "1" in pattern else len(pattern)
    if "0" in pattern[dense:layers]:
        raise PlanError(reason("record.layer_order", value=repr(words[:60])))
    return dense, 1


def _mla(fields: Fields) -> Mla | None:
    values = fields.get("model", "mla")
    if not isinstance(values, dict):
        return None
    found = {}
    for field, names in MLA_NAMES.items():
        name = next((name for name in names if name in values), names[0])
        found[field] = whole(values, name, f"model.mla.{name}", 0 if field == "q_lora" else None)
    return Mla(**found)


def _flag_number(fields: Fields, name: str, default: int) -> int:
    value = fields.flag(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST else default


def _written_out(fields: Fields, pp: int) -> tuple[int, ...]:
    """Layers a chunk of Megatron's --pipeline-model-parallel-layout: `Et*2|(tt|)*5t|tmL`, t a layer, | a cut."""
    text = fields.flag("pipeline-model-parallel-layout")
    if not isinstance(text, str):
        return ()
    if len(text) > 500 or re.search(r"\d{4}", text):
        raise PlanError(reason("record.pp_layout.long"))
    plain = re.sub(r"\(([^()]*)\)\*(\d+)", lambda match: match[1] * int(match[2]), text)
    plain = re.sub(r"([A-Za-z|])\*(\d+)", lambda match: match[1] * int(match[2]), plain)
    chunks = tuple(part.count("t") for part in plain.replace(",", "").split("|"))
    if len(chunks) % pp:
        raise PlanError(reason("record.pp_layout.parts", value=repr(text[:60]), n=len(chunks), pp=pp))
    return chunks


def _counting_ends(fields: Fields, pp: int, vpp: int) -> tuple[int, ...]:
    """Layers a chunk where embedding or loss count as a layer of the split."""
    ends = [bool(fields.flag(f"account-for-{end}-in-pipeline-split")) for end in ("embedding", "loss")]
    if not any(ends) or pp == 1:
        return ()
    parts, layers = pp * vpp, fields.whole("model", "layers")
    size, rest = divmod(layers + sum(ends), parts)
    if rest:
        raise PlanError(reason("record.ends", layers=layers, parts=parts))
    chunks = [size] * parts
    chunks[0] -= ends[0]
    chunks[-1] -= ends[1]
    return tuple(chunks)
