"""Tokens that expert-parallel ranks get, as the sizes of traced all-to-alls show them."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("trace.all_to_all_max_over_mean", "trace.comm_ep_time", "config.num_experts")
GIVES = ("moe.tokens_per_rank_max_over_mean",)


def derive(store: FactStore) -> Iterator[Fact]:
    """Only of a mixture of experts: recommendation models exchange embeddings by all-to-all as well."""
    brought = store.get("trace.all_to_all_max_over_mean")
    experts = store.get("config.num_experts")
    mixture = any(store.every("trace.comm_ep_time")) or (experts is not None and experts.value not in (0, 1))
    if brought is not None and mixture:
        because = (brought.source,)
        yield Fact(
            "moe.tokens_per_rank_max_over_mean", brought.value, "job", Source("derived"), None, Quality.DERIVED, because
        )
