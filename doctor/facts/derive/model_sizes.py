"""How many parameters a model has, by its shape or by its name."""

from __future__ import annotations

import re

# Models whose name does not carry their size, from their model cards. In a "8x7B" the experts share the attention.
KNOWN_SIZES = {
    "gpt2": 124e6, "gpt2-medium": 355e6, "gpt2-large": 774e6, "gpt2-xl": 1.56e9, "t5-small": 60e6, "t5-base": 223e6,
    "t5-large": 738e6, "bert-base": 110e6, "bert-large": 340e6, "roberta-base": 125e6, "roberta-large": 355e6,
    "mixtral-8x7b": 46.7e9, "mixtral-8x22b": 141e9, "deepseek-v2": 236e9, "deepseek-v3": 671e9, "deepseek-r1": 671e9,
    "grok-1": 314e9, "phi-2": 2.7e9, "kimi-k2": 1.04e12,
}  # fmt: skip
SIZE_IN_NAME = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d+)?)[ _-]?([BMbm])(?![A-Za-z0-9])")
SMALLEST, LARGEST = 1e6, 20e12


def params_from_name(model: str) -> float | None:
    """The size in a model's name: Qwen3-14B, llama-70b, pythia-410m. "30B-A3B" is 30e9: A3B counts the active ones."""
    for part in reversed(model.rstrip("/").split("/")[-2:]):
        low = part.lower()
        for known in sorted(KNOWN_SIZES, key=len, reverse=True):
            # "deepseek-r1-distill-qwen-7b" is another model than "deepseek-r1".
            if re.match(rf"{re.escape(known)}(?![a-z0-9])", low) and not SIZE_IN_NAME.search(part[len(known) :]):
                return KNOWN_SIZES[known]
        if found := SIZE_IN_NAME.search(part):
            size = float(found[1]) * (1e9 if found[2] in "Bb" else 1e6)
            if SMALLEST <= size <= LARGEST:
                return size
    return None


def params_from_shape(
    layers: int,
    hidden: int,
    *,
    vocab: int = 0,
    ffn: int = 0,
    gated: bool = False,
    heads: int = 0,
    kv_heads: int = 0,
    head_dim: int = 0,
    experts: int = 0,
    expert_ffn: int = 0,
    tied: bool = False,
) -> float:
    """Parameters of a transformer: L (2 h a d + 2 h k d + E g h f) + V h (2 embeddings, 1 if tied).

    g is 3 matrices in a gated MLP, else 2; 0 is "not known": then f = 4 h, k = a, a d = h and no embedding is counted,
    which leaves 12 L h^2 a layer stack (Narayanan et al., SC 2021, equation 2, without its small terms).
    """
    width = heads * head_dim if heads and head_dim else hidden
    kv_width = width * kv_heads / heads if heads and kv_heads else width
    attention = 2 * hidden * width + 2 * hidden * kv_width
    mlp = (3 if gated else 2) * hidden * ((expert_ffn or ffn or 4 * hidden) if experts else (ffn or 4 * hidden))
    return float(layers * (attention + max(experts, 1) * mlp) + (1 if tied else 2) * vocab * hidden)
