from __future__ import annotations

import pytest

from doctor.facts.derive.layout import derive
from doctor.facts.model import Value
from tests.facts.derive.speed_lines import store_of, values


def layout(**facts: Value) -> dict[str, Value]:
    return dict(values([*derive(store_of(**{f"config__{name}": value for name, value in facts.items()}))]))


@pytest.mark.parametrize(("p", "m", "share"), [(4, 8, 3 / 11), (4, 16, 3 / 19), (4, 28, 3 / 31)])
def test_the_bubble_is_that_of_1f1b(p: int, m: int, share: float) -> None:
    assert layout(pp=p, num_microbatches=m)["layout.bubble_share"] == pytest.approx(share)


def test_interleaving_divides_the_bubble() -> None:
    assert layout(pp=4, num_microbatches=8, vpp=2)["layout.bubble_share"] == pytest.approx(3 / 19)


def test_one_stage_has_no_bubble() -> None:
    assert "layout.bubble_share" not in layout(pp=1, num_microbatches=8)


@pytest.mark.parametrize(("tp", "per_node", "span"), [(8, 8, 1), (16, 8, 2), (4, 8, 1), (8, 4, 2), (3, 8, 2)])
def test_a_tensor_parallel_group_stays_in_the_node_or_not(tp: int, per_node: int, span: int) -> None:
    assert layout(tp=tp, nproc_per_node=per_node)["layout.tp_span"] == span


def test_a_group_that_fits_any_node_is_left_open_when_the_node_is_not_known() -> None:
    assert "layout.tp_span" not in layout(tp=8)
    assert layout(tp=16)["layout.tp_span"] == 2


def test_a_rack_on_nvlink_has_no_spans() -> None:
    assert "layout.tp_span" not in layout(tp=16, nproc_per_node=4, gpu_model="GB200")


def test_expert_groups_hold_their_tensor_groups() -> None:
    assert layout(ep=8, etp=1, tp=4, nproc_per_node=8)["layout.ep_span"] == 1
    assert layout(ep=8, etp=2, tp=4, nproc_per_node=8)["layout.ep_span"] == 2
