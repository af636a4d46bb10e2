from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from doctor.facts.model import Fact
from doctor.session.rank_map import LETTERS, RankState, rank_map_of
from tests.reports import healthy_report, oom_report


def test_the_rank_that_failed_is_told_from_those_that_only_waited(tmp_path: Path) -> None:
    found = rank_map_of(oom_report(tmp_path))
    assert found is not None
    assert found.counts == {RankState.ROOT: (3,), RankState.WAITED: (0, 1, 2, 4, 5, 6, 7)}


def test_ranks_of_which_nothing_was_handed_over_are_unseen(tmp_path: Path) -> None:
    size = Fact("config.world_size", 1024)
    found = rank_map_of(oom_report(tmp_path, "CUDA out of memory", "rank3.log", size))
    assert found is not None
    assert len(found.counts[RankState.UNSEEN]) == 1016
    assert [group.host for group in found.groups].count("node1") == 1


def test_a_rank_without_a_failure_is_fine_though_others_failed(tmp_path: Path) -> None:
    found = rank_map_of(
        oom_report(tmp_path, "CUDA out of memory", "rank3.log", Fact("rank.last_line", "bye", "rank:8"))
    )
    assert found is not None and found.counts[RankState.FINE] == (8,)


def test_there_is_no_map_of_one_rank_and_none_of_a_size_that_cannot_be(tmp_path: Path) -> None:
    report = healthy_report(tmp_path)
    assert rank_map_of(report) is None
    report.store.add(Fact("config.world_size", 10**9))
    assert rank_map_of(replace(report)) is None


def test_every_state_has_a_letter_of_its_own() -> None:
    assert len(set(LETTERS.values())) == len(RankState)
