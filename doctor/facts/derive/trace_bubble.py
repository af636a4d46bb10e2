"""The pipeline's bubble as it was traced, beside the one of its schedule."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("trace.exposed_pp_share", "layout.bubble_share")
GIVES = ("trace.bubble_share", "trace.bubble_excess")


def derive(store: FactStore) -> Iterator[Fact]:
    """A stage that has nothing to do waits inside a send or receive kernel, without computation beside it.

    The share of the schedule is (p-1)/(v*m+p-1) (Narayanan et al., 2021, section 2.2).
    """
    waits = [fact for fact in store.every("trace.exposed_pp_share") if fact.entity.startswith("rank:")]
    shares = [(float(str(fact.value)), fact) for fact in waits]
    if not shares:
        return
    share = fmean(value for value, _ in shares)
    worst = max(shares, key=lambda pair: pair[0])[1].source
    yield Fact("trace.bubble_share", share, "job", Source("derived"), None, Quality.DERIVED, (worst,))
    planned = store.get("layout.bubble_share")
    if planned is not None:
        excess = share - float(str(planned.value))
        because = (worst, *(planned.because or (planned.source,)))
        yield Fact("trace.bubble_excess", excess, "job", Source("derived"), None, Quality.DERIVED, because)
