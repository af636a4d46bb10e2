"""How unevenly tokens fall on experts, from counts of a run, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite, log

from doctor.planner.errors import PlanError, reason


def imbalance(tokens: Sequence[float], ep: int) -> float:
    """Load of the busiest expert-parallel rank over the mean, at least 1: the factor by which the experts' part of a
    layer is slower than with an even load, for all ranks wait for the busiest.

    tokens: that every expert got, in the order of the experts; ranks hold consecutive ones (Megatron-LM,
    core/transformer/moe/moe_layer.py). Raises PlanError.
    """
    _check(tokens)
    if ep < 1 or len(tokens) % ep:
        raise PlanError(reason("reason.ep_experts", ep=ep, experts=len(tokens)))
    width = len(tokens) // ep
    loads = [sum(tokens[rank * width : (rank + 1) * width]) for rank in range(ep)]
    return max(loads) * ep / sum(loads)


def entropy(tokens: Sequence[float]) -> float:
    """Shannon entropy of the load over its largest possible value ln(E): 1 for an even load, 0 where one expert gets
    all. Raises PlanError."""
    _check(tokens)
    if len(tokens) == 1:
        return 1.0
    total = sum(tokens)
    shares = [count / total for count in tokens if count]
    return min(1.0, -sum(share * log(share) for share in shares) / log(len(tokens)))


def capacity(tokens: int, topk: int, experts: int, factor: float) -> int:
    """Tokens that one expert takes at most: ceil(factor * tokens * topk / experts) (Switch Transformer, arXiv
    2101.03961, equation 3; Megatron-LM, core/transformer/moe/moe_utils.py, get_capacity)."""
    if factor <= 0:
        raise PlanError(reason("reason.capacity", factor=factor))
    return ceil(factor * tokens * topk / experts)


def capped(imbalance: float, factor: float) -> float:
    """Load of the busiest rank over the mean when tokens beyond the capacity factor are dropped."""
    if factor <= 0:
        raise PlanError(reason("reason.capacity", factor=factor))
    return max(1.0, min(imbalance, factor))


def dropped(tokens: Sequence[float], factor: float) -> float:
    """Share of the routed tokens, 0 to 1, that exceed the capacity of their expert and skip it."""
    _check(tokens)
    if factor <= 0:
        raise PlanError(reason("reason.capacity", factor=factor))
    total = sum(tokens)
    room = ceil(factor * total / len(tokens))
    return sum(max(0.0, count - room) for count in tokens) / total


def _check(tokens: Sequence[float]) -> None:
    if not tokens:
        raise PlanError(reason("reason.no_loads"))
    for expert, count in enumerate(tokens):
        if not isfinite(count) or count < 0:
            raise PlanError(reason("reason.load", expert=expert, count=count))
    if not sum(tokens):
        raise PlanError(reason("reason.loads_zero"))
