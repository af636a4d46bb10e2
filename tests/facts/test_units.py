import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts.units import PLAIN, combine, dimension, name_of, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2.50 GiB", 2.5 * 1024**3),
        ("954.00 MiB", 954 * 1024**2),
        ("24 bytes", 24),
        ("14.86GB", 14.86e9),
        ("500,000,000", 500_000_000),
        ("64M", 64e6),
    ],
)
def test_a_size_is_read_in_bytes(text: str, size: float) -> None:
    assert parse_size(text) == pytest.approx(size)


@pytest.mark.parametrize("text", ["", "GiB", "1.2.3 GiB", "12 apples", "-3 GiB"])
def test_what_is_no_size_is_none(text: str) -> None:
    assert parse_size(text) is None


def test_an_unknown_unit_is_named() -> None:
    with pytest.raises(ValueError, match="furlong"):
        dimension("furlong/s")


units = st.sampled_from(["1", "B", "s", "W", "B/s", "FLOP/s"])


@given(units, units)
def test_dividing_undoes_multiplying(left: str, right: str) -> None:
    product = combine(dimension(left), dimension(right), 1)
    assert combine(product, dimension(right), -1) == dimension(left)


@given(units)
def test_a_dimension_is_written_as_it_is_read(unit: str) -> None:
    assert dimension(name_of(dimension(unit))) == dimension(unit)


def test_a_ratio_of_like_units_is_a_plain_number() -> None:
    assert combine(dimension("B"), dimension("B"), -1) == PLAIN
