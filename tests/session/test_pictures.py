from __future__ import annotations

import pytest

from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from doctor.session.pictures import Picture, pictures_of


def drawn(**facts: float) -> tuple[Picture, ...]:
    return pictures_of(FactStore(Fact(f"trace.{name}", value, "rank:3") for name, value in facts.items()))


def test_a_bar_is_the_whole_span_of_a_rank() -> None:
    (picture,) = drawn(
        span_us=100.0, compute_us=50.0, exposed_comm_us=20.0, exposed_mem_us=5.0, idle_us=25.0,
        exposed_tp_share=0.15, exposed_dp_share=0.15, idle_host_share=0.2, idle_sync_share=0.0, idle_other_share=0.05,
    )  # fmt: skip
    (bar,) = picture.bars
    assert (bar.entity, bar.seconds) == ("rank:3", pytest.approx(1e-4))
    shares = {part.kind: part.share for part in bar.parts}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["comm_tp"] == shares["comm_dp"] == pytest.approx(0.1)
    assert "idle_sync" not in shares


def test_idle_time_without_a_reason_is_one_part() -> None:
    (picture,) = drawn(span_us=100.0, compute_us=50.0, idle_us=50.0)
    assert [part.kind for part in picture.bars[0].parts] == ["compute", "idle"]


def test_without_traces_there_is_no_picture() -> None:
    assert drawn() == () == drawn(span_us=0.0)
