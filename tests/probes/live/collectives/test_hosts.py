"""The search for slow hosts and links over real connections between network namespaces."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from probes.live.collectives.layout import Layout
from probes.live.collectives.measure import Request
from probes.live.collectives.model import Result
from probes.live.collectives.run import run
from probes.live.collectives.start import WORKER
from tests.probes.live.collectives.namespaces import Hosts, hosts, missing

PYTHON = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")
SCRIPT = Path(__file__).with_name("worker_in_namespaces.py")
PAIRS = Request(operations=(), step=8, total=60)


@pytest.fixture(autouse=True)
def rig(monkeypatch: pytest.MonkeyPatch) -> None:
    if not PYTHON:
        pytest.skip("torch is not installed, and it makes the ranks")
    if reason := missing():
        pytest.skip(reason)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth0")
    monkeypatch.setenv("PDOCTOR_TEST_WORKER", str(WORKER.parent))


def pairs_of(made: Hosts, monkeypatch: pytest.MonkeyPatch, request: Request = PAIRS) -> Result:
    monkeypatch.setenv("PDOCTOR_TEST_NAMESPACES", ",".join(made.names))
    result = run(request, PYTHON, "gloo", len(made.names), script=SCRIPT)
    assert result is not None
    end = time.monotonic() + 3
    while ranks_left() and time.monotonic() < end:  # what was killed takes a moment to be gone
        time.sleep(0.05)
    assert not ranks_left()
    return result


def ranks_left() -> list[str]:
    """Processes of a test that still run once it has ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            ended = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            ours = f"PDOCTOR_TEST_NAMESPACES={os.environ['PDOCTOR_TEST_NAMESPACES']}".encode()
            if str(SCRIPT) in words and not ended and ours in (entry / "environ").read_bytes():
                found.append(entry.name)
    return found


def blamed(result: Result) -> tuple[list[str], list[tuple[str, str]]]:
    assert result.verdict is not None and result.lost is None and result.verdict.judged, result
    nodes = [result.name(result.units[node]) for node in result.verdict.nodes]
    links = [(result.name(result.units[a]), result.name(result.units[b])) for a, b in result.verdict.links]
    return nodes, links


def test_healthy_hosts_are_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(8) as made:
        assert blamed(pairs_of(made, monkeypatch)) == ([], [])


def test_a_slow_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(4) as made:
        made.slow_host(2)
        assert blamed(pairs_of(made, monkeypatch)) == (["host2"], [])


def test_a_slow_link_is_named_and_neither_of_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(4) as made:
        made.slow_link(1, 3)
        assert blamed(pairs_of(made, monkeypatch)) == ([], [("host1", "host3")])


GROUPS = replace(PAIRS, step=20, total=120, pairs=False, layout=Layout(tp=2, pp=2))


def test_the_host_in_every_slow_group_of_the_job_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(8) as made:
        made.slow_host(5)
        result = pairs_of(made, monkeypatch, GROUPS)
        slow = {one.group.ranks for one in result.groups if one.slow}
        assert len(slow) > 1 and all(5 in ranks for ranks in slow)
        assert [(blame.kind, result.name(blame.ranks[0])) for blame in result.blames] == [("rank", "host5")]


def test_the_path_between_two_stages_is_named_where_both_are_quick_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(8) as made:
        made.slow_link(1, 5)
        result = pairs_of(made, monkeypatch, GROUPS)
        assert [(blame.kind, blame.ranks) for blame in result.blames] == [("link", (1, 5))]


def test_groups_of_alike_hosts_are_as_quick_as_their_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(8) as made:
        result = pairs_of(made, monkeypatch, GROUPS)
        assert (result.blames, result.lost) == ((), None)
        assert all(one.usual for one in result.groups)


def test_two_hosts_that_cannot_meet_are_found_by_halves_where_all_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(6) as made:
        made.cut(1, 4)
        request = Request(operations=("all_reduce",), sizes=(1024,), step=3, total=60)
        result = pairs_of(made, monkeypatch, request)
        assert result.lost is not None and result.lost.narrowed is not None, result.lost
        assert result.lost.narrowed.ranks == (1, 4)
        assert all(not {1, 4} <= set(ranks) for ranks in result.lost.narrowed.passed)


def test_a_host_that_drops_out_in_a_collective_ends_it_within_the_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosts(4) as made:
        told = {"all_reduce 16384": lambda: made.unplug(2)}
        request = Request(
            ("all_reduce",), (4096, 16384), False, step=3, total=40, told=lambda text: told.get(text, int)()
        )
        begun = time.monotonic()
        result = pairs_of(made, monkeypatch, request)
        assert time.monotonic() - begun < 45
        assert result.lost is not None and result.lost.operation == "all_reduce"
        assert [row.bytes for row in result.rows] == [4096]
        # Every rank lives and waits, so nobody is blamed at once; tried by halves, the host that is cut off remains.
        assert result.lost.narrowed is not None and 2 in result.lost.narrowed.ranks


def test_a_host_that_is_cut_off_is_among_the_two_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its network is gone here, its process answers: so the two ends of the exchange are named, not the others."""
    with hosts(4) as made:
        rounds = []

        def told(text: str) -> None:
            rounds.append(text)
            if len(rounds) == 3:
                made.unplug(2)

        result = pairs_of(made, monkeypatch, Request(operations=(), step=3, total=30, told=told))
        assert result.lost is not None and result.lost.operation == "pairs"
        assert 2 in result.lost.ranks and len(result.lost.ranks) == 2
