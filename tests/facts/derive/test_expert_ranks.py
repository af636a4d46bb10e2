"""What the loads of experts mean for the ranks that hold them."""

from __future__ import annotations

import pytest

from doctor.facts.derive.expert_ranks import derive
from doctor.facts.model import Fact, Value
from doctor.facts.store import FactStore

HEAT = Fact("experts.heat", ("0: 2 0 1 1", "1: 2 2 0 0"))


def told(*facts: Fact) -> dict[str, Value]:
    return {fact.name: fact.value for fact in derive(FactStore([HEAT, *facts]))}


def test_a_rank_has_a_block_of_experts() -> None:
    facts = told(Fact("config.ep", 2))
    assert facts["experts.ep_max_over_mean"] == 2.0
    assert facts["experts.ep_excess"] == pytest.approx(0.5)


def test_nothing_is_said_of_ranks_that_do_not_divide_the_experts() -> None:
    assert told(Fact("config.ep", 3)) == {}
    assert told() == {}


def test_what_exceeds_the_capacity_is_dropped() -> None:
    assert told(Fact("config.moe_capacity_factor", 1.5))["experts.overflow_share"] == pytest.approx((0.125 + 0.25) / 2)
