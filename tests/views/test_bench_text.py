"""What a collective test says to people and to the rules."""

from __future__ import annotations

import io

import pytest

from doctor.facts.busbw_table import published
from doctor.rulebase.load import load_rulebase
from doctor.session.bench import judged
from doctor.views.bench_text import print_bench
from probes.live.collectives.model import Lost, Member, Result, Row, Skipped
from probes.live.collectives.search import Verdict
from probes.live.collectives.usual import Usual

GIB = 1 << 30
H200 = tuple(Member(rank, "n1", "NVIDIA H200") for rank in range(8))
HOSTS = tuple(Member(rank, f"n{rank}", "NVIDIA H200") for rank in range(4))


def verdict(nodes: tuple[int, ...] = (), links: tuple[tuple[int, int], ...] = ()) -> Verdict:
    share = dict.fromkeys((*nodes, *links), 0.5)
    return Verdict(nodes, links, share, Usual(4.6e10, 0.02, 3.6e10), True, "", 6, 6, 3)


def reduced(busbw: float, wrong: int = 0, size: int = GIB) -> Row:
    return Row("all_reduce", size, 8, 20, size * 1.75 / busbw, size * 1.75 / busbw, wrong)


def told(result: Result, lang: str = "en") -> str:
    file = io.StringIO()
    print_bench(result, file, lang, color=False)
    return " ".join(file.getvalue().split())


def roots(result: Result) -> list[str]:
    return [root.rule.id for root in judged(result, load_rulebase()).diagnosis.roots]


def test_a_row_stands_beside_what_is_published_for_its_payload() -> None:
    result = Result("nccl", H200, (reduced(4.6e11),))
    assert "460.0 0 463.6" in told(result)
    assert roots(result) == []


def test_half_of_what_is_published_is_a_finding() -> None:
    assert roots(Result("nccl", H200, (reduced(2.3e11),))) == ["PRF050"]


def test_only_the_same_payload_and_number_of_ranks_is_compared() -> None:
    assert published("NVIDIA H200", "all_reduce", 8, 1, GIB) is not None
    assert published("NVIDIA H200", "all_reduce", 8, 1, GIB + 4) is None
    assert published("NVIDIA H200", "all_reduce", 6, 1, GIB) is None
    assert published("NVIDIA H200 NVL", "all_reduce", 8, 1, GIB) is None
    assert "no expectation" in told(Result("nccl", H200, (reduced(2.3e11, size=GIB + 4),)))


def test_a_slow_host_is_named_by_its_name() -> None:
    result = Result("nccl", HOSTS, verdict=verdict(nodes=(2,)), units=(0, 1, 2, 3))
    assert "n2 is slow with every other, 50%" in told(result)
    assert roots(result) == ["HW040"]


def test_a_slow_path_is_named_by_its_ends() -> None:
    result = Result("nccl", HOSTS, verdict=verdict(links=((1, 3),)), units=(0, 1, 2, 3))
    assert "n1 - n3 is slow" in told(result)
    assert roots(result) == ["NET040"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_healthy_pairs_and_what_was_not_tested_are_said(lang: str) -> None:
    members = (*HOSTS, Member(4, "n0", "NVIDIA H200"))
    text = told(Result("nccl", members, verdict=verdict(), units=(0, 1, 2, 3), pair_bytes=GIB), lang)
    assert "46.00 GB/s" in text
    assert ("other ranks" if lang == "en" else "首个 rank 以外") in text


def test_who_did_not_answer_is_named_with_what_it_was_in() -> None:
    result = Result("gloo", HOSTS, lost=Lost((2,), "all_reduce", 1024, "its process ended with signal 9"))
    assert "Did not answer: n2, in all_reduce of 1024 B: its process ended with signal 9." in told(result)
    assert roots(result) == ["HNG040"]


def test_where_all_wait_nobody_is_blamed() -> None:
    result = Result("nccl", HOSTS, lost=Lost((), "all_reduce", 1024, "all ranks live"))
    assert "No rank can be blamed" in told(result)
    assert roots(result) == ["HNG041"]


def test_wrong_sums_between_gpus_are_fatal() -> None:
    result = Result("nccl", H200, (reduced(4.6e11, wrong=3),))
    assert "Wrong results in all_reduce" in told(result)
    assert roots(result) == ["HW041"]


def test_slow_hosts_without_a_fast_network_are_told_apart_from_healthy_ones() -> None:
    slow = Verdict((), (), {}, Usual(1.1e9, 0.02, 0.8e9), True, "", 6, 6, 3)
    assert "HW040" not in roots(Result("nccl", HOSTS, verdict=slow, units=(0, 1, 2, 3)))


def test_what_could_not_be_measured_says_why() -> None:
    result = Result("gloo", HOSTS, skipped=(Skipped("all_to_all", 64, "gloo does not support it"),))
    assert "not measured: all_to_all of 64 B: gloo does not support it" in told(result)
