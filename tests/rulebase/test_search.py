"""Rules are found by words of either language, and a misspelt word is put right."""

from __future__ import annotations

import pytest

from doctor.rulebase.load import read_rulebase
from doctor.rulebase.search import find, meant, words_of

BASE = read_rulebase().base


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ("allocator fragmentation", "allocator-fragmentation"),
        ("碎片化", "allocator-fragmentation"),
        ("HNG009", "cuda-oom-one-rank"),
        ("host name cannot be resolved", "hostname-resolution"),
        ("straggler", "straggler-hw"),
    ],
)
def test_the_rule_that_is_about_it_comes_first(query: str, cause: str) -> None:
    assert find(query, BASE)[0].rule.cause == cause


def test_a_rule_that_holds_few_of_the_words_is_not_found() -> None:
    assert find("memory zebra giraffe okapi", BASE) == []
    assert find("", BASE) == []


def test_a_misspelt_word_is_put_right_and_a_strange_one_is_not() -> None:
    assert find("alocator fragmentaton", BASE) == []
    assert meant("alocator fragmentaton", BASE) == "allocator fragmentation"
    assert meant("qqqzzz", BASE) == ""


def test_words() -> None:
    assert words_of("NCCL_IB_DISABLE=1, 显存碎片 x") == ["nccl_ib_disable", "1", "显存", "存碎", "碎片", "x"]
    assert len(words_of(" ".join(map(str, range(10_000))))) == 40
