"""Parameters of a model by part, and those that one rank holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from doctor.planner.job import Job, Stack
from doctor.planner.shape import Norm, Shape
from doctor.planner.stages import Chunk, alike


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerParameters:
    """Parameters of one layer: what tensor parallelism cuts (query and output; key and value; MLP with shared experts),
    what every rank of the group holds whole, and the routed experts, which expert parallelism cuts."""

    query_output: float
    key_value: float
    mlp: float
    whole: float
    experts: float

    @property
    def total(self) -> float:
        return self.query_output + self.key_value + self.mlp + self.whole + self.experts


@dataclass(frozen=True, slots=True, kw_only=True)
class RankParameters:
    """Parameters on one rank: `layers` the dense ones of its layers, `experts` routed experts, `embedding` and `head`
    the matrices over the vocabulary (a tied head counts 0 where the embedding is on the same rank)."""

    layers: float
    experts: float
    embedding: float
    head: float

    @property
    def dense(self) -> float:
        """All that is replicated over dp * cp."""
        return self.layers + self.embedding + self.head

    @property
    def total(self) -> float:
        return self.dense + self.experts


def total(shape: Shape) -> float:
    """Parameters of the model, without layers of multi-token prediction, as model cards count them."""
    layers = sum(layer_parameters(shape, layer).total for layer in range(shape.layers))
    ends = shape.vocab * shape.hidden * (1 if shape.tied else 2) + shape.learned_positions * shape.hidden
    return layers + ends + _norm(shape)


@lru_cache(maxsize=4096)
def layer_parameters(shape: Shape, layer: int) -> LayerParameters:
    """Parameters of layer number `layer`, counted from 0.

    Attention 2h*a*d + 2h*k*d; MLP 3hf (gated) or 2hf; E experts of the same form and a router h*E; two norms. Latent
    attention: DeepSeek-V2 (arXiv 2405.04434), section 2.1, with the norms of both latents; its down-projections are
    whole on every rank of a TP group (Megatron-LM, core/transformer/multi_latent_attention.py: parallel mode
    "duplicate").
    """
    return _layer(shape, shape.is_moe(layer))


def rank_parameters(job: Job, chunks: tuple[Chunk, ...]) -> RankParameters:
    """Parameters on a rank of the pipeline stage that holds `chunks`."""
    shape, tp = job.shape, job.layout.tp
    layers = experts = 0.0
    counts = {False: 0, True: 0}  # layers with experts or without
    for chunk in chunks:
        for layer, count in alike(shape, chunk.first, chunk.layers):
            counts[shape.is_moe(layer)] += count
    for moe, count in counts.items():
        if count:
            dense, routed = _on_rank(job, _layer(shape, moe))
            layers, experts = layers + dense * count, experts + routed * count
    for chunk in chunks:
        if chunk.head:
            layers += _norm(shape)
            for _ in range(shape.mtp_layers):
                dense, routed = _on_rank(job, layer_parameters(shape, shape.layers - 1))
                layers += dense + 2 * shape.hidden**2 / tp + 3 * _norm(shape)
                experts += routed
    matrix = padded_vocab(job) * shape.hidden / tp
    first, last = (sum(getattr(chunk, end) for chunk in chunks) for end in ("embedding", "head"))
    embedding = first * (matrix + shape.learned_positions * shape.hidden)
    if last and not first and shape.mtp_layers:  # the input of multi-token prediction (Megatron-LM, gpt_model.py)
        embedding += last * matrix
    head = 0.0 if shape.tied and embedding else last * matrix
    return RankParameters(layers=layers, experts=experts, embedding=embedding, head=head)


def padded_vocab(job: Job) -> int:
    """Rows of the matrices over the vocabulary: Megatron pads to a multiple of `vocab_multiple` * tp, others to tp."""
    multiple = job.layout.tp * (job.vocab_multiple if job.stack is Stack.MEGATRON else 1)
    return -(-job.shape.vocab // multiple) * multiple


def layer_on_rank(job: Job, layer: int) -> tuple[float, float]:
    """Dense parameters and routed experts' parameters of one layer on one rank."""
    return _on_rank(job, layer_parameters(job.shape, layer))


def _on_rank(job: Job, layer: LayerParameters) -> tuple[float, float]:
    tp, shape = job.layout.tp, job.shape
    key_value = layer.key_value / (tp if shape.mla else min(tp, shape.kv_heads))  # fewer key-value heads: repeated
    dense = layer.query_output / tp + key_value + layer.mlp / tp + layer.whole
    return dense, layer.experts / (job.layout.ep * job.layout.etp)


@lru_cache(maxsize=1024)
def _layer(shape: Shape, moe: bool) -> LayerParameters:
    h, bias = shape.hidden, int(shape.bias)
    whole = 2.0 * _norm(shape)
    if shape.mla:
        mla = shape.mla
        width = shape.heads * (mla.qk_nope + mla.qk_rope)
        query = mla.q_lora * width if mla.q_lora else h * width
        whole += (h + 1) * mla.q_lora + h * (mla.kv_lora + mla.qk_rope) + mla.kv_lora
        query_output = query + shape.heads * mla.v_dim * h
        key_value = mla.kv_lora * shape.heads * (mla.qk_nope + mla.v_dim)
    else:
        width = shape.heads * shape.head_dim
        query_output = 2 * h * width + bias * width
        key_value = 2 * (h + bias) * shape.kv_heads * shape.head_dim
        whole += bias * h
    matrices = 3 if shape.gated else 2
    experts = 0.0
    if moe and shape.moe:
        one = matrices * h * shape.moe.ffn + bias * ((matrices - 1) * shape.moe.ffn + h)
        experts = shape.moe.experts * one
        mlp = matrices * h * shape.moe.shared_ffn
        whole += shape.moe.experts * (h + bias)
    else:
        mlp = matrices * h * shape.ffn + bias * (matrices - 1) * shape.ffn
        whole += bias * h
    return LayerParameters(query_output=query_output, key_value=key_value, mlp=mlp, whole=whole, experts=experts)


def _norm(shape: Shape) -> int:
    return shape.hidden * (2 if shape.norm is Norm.LAYER else 1)
