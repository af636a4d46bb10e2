"""Layouts that a framework would start."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.planner.families import model
from doctor.planner.frameworks import framework, start
from doctor.planner.layout import Layout
from doctor.planner.space import chunk_counts, counting_ends, divisors, layouts, micro_batches
from tests.planner.support import cluster


def all_layouts(name: str, gpus: int, seq: int = 4096, batch: int = 512, chosen: str = "megatron", **fixed: int) -> list[Layout]:  # fmt: skip
    plan = framework(chosen)
    return list(layouts(start(plan, model(name), cluster(gpus), seq, batch), plan, fixed))


@given(
    st.sampled_from((8, 16, 64, 256)), st.sampled_from(("llama2-70b", "mixtral-8x7b", "qwen3-30b-a3b", "llama3-405b"))
)
def test_degrees_multiply_to_the_gpus_and_experts_do_not(gpus: int, name: str) -> None:
    for layout in all_layouts(name, gpus):
        assert layout.world == gpus
        assert layout.tp <= 8
        assert layout.etp * layout.ep * layout.edp * layout.pp == gpus


def test_no_layout_comes_twice() -> None:
    found = all_layouts("qwen3-30b-a3b", 64)
    assert len(found) == len(set(found))


def test_fixed_degrees_stay() -> None:
    assert {layout.tp for layout in all_layouts("llama2-70b", 64, tp=4)} == {4}
    assert {(layout.pp, layout.cp) for layout in all_layouts("llama2-70b", 64, pp=2, cp=1)} == {(2, 1)}


def test_short_sequences_get_no_context_parallelism_and_long_ones_do() -> None:
    assert {layout.cp for layout in all_layouts("llama2-70b", 64, seq=2048)} == {1}
    assert max(layout.cp for layout in all_layouts("llama2-70b", 64, seq=131072)) > 4


def test_plain_fsdp_has_data_parallelism_alone_over_all_or_within_nodes() -> None:
    found = all_layouts("llama2-70b", 64, chosen="fsdp")
    assert [(layout.dp, layout.shard) for layout in found] == [(64, 0), (64, 8)]


def test_layers_that_do_not_divide_are_cut_beside_embedding_and_head() -> None:
    assert counting_ends(126, 16) == (7, *(8,) * 14, 7)
    assert counting_ends(80, 4) == () and counting_ends(61, 16) == ()
    deep = {(layout.first, layout.last) for layout in all_layouts("deepseek-v3", 256, batch=2048, pp=16)}
    assert deep == {(3, 2)}


def test_chunks_divide_the_layers_of_a_stage() -> None:
    plan = framework("megatron")
    base = start(plan, model("llama2-70b"), cluster(64), 4096, 512)
    assert chunk_counts(base, plan, Layout(tp=8, pp=4, dp=2), {}) == (1, 2, 4, 5, 10, 20)
    assert chunk_counts(base, plan, Layout(tp=8, dp=8), {}) == (1,)


def test_micro_batches_divide_the_share_of_a_rank() -> None:
    base = start(framework("megatron"), model("llama2-70b"), cluster(64), 4096, 192)
    assert micro_batches(base, Layout(dp=64), {}) == (1,)
    assert micro_batches(base, Layout(tp=8, pp=4, dp=2), {"micro_batch": 5}) == ()


def test_divisors_of_a_square() -> None:
    assert divisors(36) == (1, 2, 3, 4, 6, 9, 12, 18, 36)
