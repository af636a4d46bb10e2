"""The shape of a transformer: what decides its parameters, its activations and its floating-point operations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from doctor.planner.errors import PlanError, reason

MOST_LAYERS = 10_000


class Norm(StrEnum):
    """Normalisation; a layer norm has a bias beside its weight."""

    RMS = "rms"
    LAYER = "layer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mla:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1). Widths in elements.

    `q_lora` 0: the query has no latent (DeepSeek-V2-Lite).
    """

    q_lora: int
    kv_lora: int
    qk_nope: int
    qk_rope: int
    v_dim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moe:
    """The experts of a mixture-of-experts model.

    ffn: inner width of one routed expert. shared_ffn: inner width of all shared experts together.
    dense_layers: first layers that have an ordinary MLP of width `Shape.ffn` instead; after them every `every`-th layer
    has experts, the others an ordinary MLP.
    """

    experts: int
    topk: int
    ffn: int
    shared_ffn: int = 0
    dense_layers: int = 0
    every: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A decoder-only transformer.

    layers, hidden, heads, kv_heads, head_dim, ffn, vocab: counts and widths in elements. gated: the MLP has three
    matrices (SwiGLU and the like) instead of two. tied: input embedding and output head are one matrix.
    bias: linear layers have a bias. learned_positions: length of a learned position embedding, 0 for rotary and others.
    mtp_layers: layers of multi-token prediction after the last one (DeepSeek-V3, arXiv 2412.19437, section 2.2).
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    gated: bool = True
    tied: bool = False
    norm: Norm = Norm.RMS
    bias: bool = False
    learned_positions: int = 0
    mtp_layers: int = 0
    moe: Moe | None = None
    mla: Mla | None = None

    def __post_init__(self) -> None:
        for field in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab"):
            if getattr(self, field) < 1:
                raise self._wrong("reason.least", name=field, value=getattr(self, field))
        if self.layers > MOST_LAYERS:
            raise self._wrong("reason.layers_most", layers=self.layers, most=MOST_LAYERS)
        if self.ffn < 1 and self.moe is None:
            raise self._wrong("reason.least", name="ffn", value=self.ffn)
        if self.heads % self.kv_heads:
            raise self._wrong("reason.heads_kv", heads=self.heads, kv_heads=self.kv_heads)
        if self.moe and self.moe.every < 1:
            raise self._wrong("reason.least", name="every", value=self.moe.every)
        if self.moe and not 1 <= self.moe.topk <= self.moe.experts:
            raise self._wrong("reason.topk", topk=self.moe.topk, experts=self.moe.experts)

    def _wrong(self, key: str, **values: object) -> PlanError:
        return PlanError(reason("reason.of", name=self.name, why=reason(key, **values)))

    def is_moe(self, layer: int) -> bool:
        """Has layer number `layer`, counted from 0, experts?"""
        moe = self.moe
        return moe is not None and layer >= moe.dense_layers and (layer - moe.dense_layers) % moe.every == 0
