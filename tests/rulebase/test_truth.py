import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.rulebase.truth import Truth, conjunction, disjunction, negation

truths = st.sampled_from(list(Truth))


@given(truths, truths)
def test_de_morgan_holds_with_three_values(a: Truth, b: Truth) -> None:
    assert negation(conjunction([a, b])) is disjunction([negation(a), negation(b)])


def test_one_false_decides_a_conjunction_whatever_is_unknown() -> None:
    assert conjunction([Truth.UNKNOWN, Truth.FALSE]) is Truth.FALSE
    assert conjunction([Truth.UNKNOWN, Truth.TRUE]) is Truth.UNKNOWN


def test_a_truth_cannot_be_used_as_a_bool() -> None:
    with pytest.raises(TypeError):
        bool(Truth.TRUE)
