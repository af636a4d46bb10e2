from __future__ import annotations

from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from doctor.session.wait_graph import Waits, wait_graph_of


def test_ranks_that_wait_for_the_same_rank_in_the_same_call_are_one_edge() -> None:
    edges = ("0 > 2: all_reduce 7 of default (not called)", "1 > 2: all_reduce 7 of default (not called)")
    found = wait_graph_of(FactStore([Fact("fr.wait_graph", edges), Fact("fr.culprits", (2,))]))
    assert found is not None
    assert found.edges == (Waits((0, 1), (2,), "all_reduce 7 of default", "not called"),)
    assert found.culprits == (2,)


def test_a_circle_keeps_its_edges_apart() -> None:
    edges = ("0 > 1: send 1 (not received)", "1 > 0: send 1 (not received)")
    found = wait_graph_of(FactStore([Fact("fr.wait_graph", edges), Fact("fr.circle", (0, 1))]))
    assert found is not None and len(found.edges) == 2 and found.circle == (0, 1)


def test_what_is_no_edge_is_passed_over() -> None:
    assert wait_graph_of(FactStore([Fact("fr.wait_graph", ("nonsense", "1 > x: y (z)"))])) is None
    assert wait_graph_of(FactStore()) is None
