"""Groups of a layout: which ranks, in what order; and what slow ones have in common."""

from __future__ import annotations

import pytest

from probes.live.collectives.layout import Group, Layout, LayoutError, host_edges, parsed
from probes.live.collectives.siblings import blamed, slower


def ranks(layout: Layout, world: int, role: str) -> list[tuple[int, ...]]:
    return [group.ranks for group in layout.groups(world) if group.role == role]


def test_tensor_parallel_ranks_are_neighbours_and_pipeline_stages_farthest_apart() -> None:
    layout = Layout(tp=2, pp=2)
    assert ranks(layout, 8, "TP") == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert ranks(layout, 8, "DP") == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert ranks(layout, 8, "PP") == [(0, 4), (1, 5), (2, 6), (3, 7)]


def test_experts_are_cut_anew_over_the_ranks_of_a_stage() -> None:
    layout = Layout(tp=2, ep=4, etp=1)
    assert ranks(layout, 16, "EP") == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15)]
    assert ranks(layout, 16, "EDP") == [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    assert ranks(Layout(tp=2, ep=2), 8, "EP") == [(0, 2), (1, 3), (4, 6), (5, 7)]  # etp is tp where nobody sets it


def test_gradients_are_reduced_over_context_parallel_ranks_too() -> None:
    layout = Layout(cp=2, pp=2)
    assert ranks(layout, 8, "CP") == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert ranks(layout, 8, "DP") == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_another_order_of_dimensions_gives_other_groups() -> None:
    layout = parsed("tp=2,pp=2,order=tp-cp-ep-pp-dp")
    assert ranks(layout, 8, "PP") == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert ranks(layout, 8, "DP") == [(0, 4), (1, 5), (2, 6), (3, 7)]


@pytest.mark.parametrize("world", [8, 16, 64])
def test_every_rank_is_in_one_group_of_each_role(world: int) -> None:
    for role in ("TP", "CP", "EP", "PP", "EDP"):
        members = [rank for own in ranks(Layout(tp=2, cp=2, ep=2, etp=1, pp=2), world, role) for rank in own]
        assert sorted(members) in ([], list(range(world)))


@pytest.mark.parametrize(
    ("text", "world", "told"),
    [
        ("tp=3", 8, "tp 3 x cp 1 x pp 1 = 3 does not divide 8"),
        ("ep=3", 8, "does not divide the 8 ranks of a stage"),
        ("tpp=2", 8, "'tpp=2'"),
        ("tp=0", 8, "'tp=0'"),
        ("tp=2,order=tp-pp", 8, "'tp-pp'"),
    ],
)
def test_what_does_not_fit_is_one_line(text: str, world: int, told: str) -> None:
    with pytest.raises(LayoutError, match=told):
        parsed(text).groups(world)


def test_edges_between_hosts_are_those_of_the_groups_rings() -> None:
    hosts = [rank // 2 for rank in range(8)]
    assert host_edges(Layout(tp=2, pp=2).groups(8), hosts) == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_a_group_at_half_the_rate_of_its_siblings_is_slow() -> None:
    groups = [Group("DP", (at, at + 4)) for at in range(4)]
    judged = slower(dict(zip(groups, ([100.0], [101.0], [50.0], [99.0]), strict=True)))
    assert judged is not None and judged[1] == {groups[2]}
    assert slower({groups[0]: [100.0]}) is None


APART = list(range(8))
EVERY = Layout(tp=2, pp=2).groups(8)


def blame(
    *slow: Group, hosts: list[int] = APART, every: tuple[Group, ...] = EVERY
) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.kind, one.ranks) for one in blamed(slow, [g for g in every if g not in slow], hosts)]


def test_the_rank_in_all_slow_groups_is_named() -> None:
    assert blame(*[group for group in EVERY if 5 in group.ranks]) == [("rank", (5,))]


def test_two_ranks_that_are_well_in_other_groups_leave_the_path_between_them() -> None:
    assert blame(Group("PP", (1, 5))) == [("link", (1, 5))]


def test_a_host_whose_ranks_are_slow_across_hosts_is_named() -> None:
    hosts = [rank // 2 for rank in range(8)]
    slow = [group for group in EVERY if group.role != "TP" and {4, 5} & set(group.ranks)]
    assert blame(*slow, hosts=hosts) == [("host", (4, 5))]


def test_a_quick_group_within_a_host_clears_nobody_of_what_leaves_the_host() -> None:
    hosts = [rank // 2 for rank in range(8)]
    slow = [group for group in EVERY if group.role != "TP" and 5 in group.ranks]
    assert blame(*slow, hosts=hosts) == [("rank", (5,))]


def test_one_slow_group_of_ranks_in_no_other_leaves_its_members() -> None:
    every = Layout().groups(4) + Layout(tp=4).groups(4)
    assert blame(every[0], every=(every[0],), hosts=APART[:4]) == [("members", (0, 1, 2, 3))]
