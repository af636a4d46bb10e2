import pytest

from doctor.rulebase.patterns import faults


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (r"CUDA (?=out of memory)", "look-around"),
        (r"(timeout) after \1", "back-reference"),
        (r"pid\d+", "no fixed text of 4 bytes"),
        (r".*Watchdog caught", "begins with"),
        (r"Watchdog caught.*", "ends with"),
        (r"Watchdog \[([^]]+)\]", "negated class"),
        (r"Watchdog (caught", "does not compile"),
        (r"(?:Watchdog caught|x\d)", "no fixed text"),
    ],
)
def test_an_unfit_pattern_is_told_why(pattern: str, fault: str) -> None:
    assert any(fault in told for told in faults(pattern))


@pytest.mark.parametrize(
    "pattern",
    [
        r"CUDA out of memory\. Tried to allocate (?P<requested>[\d.]+ \w+)",
        r"Watchdog caught \[(?P<op>[^\]\n\r]+)\] .{0,40}timeout",
        r"iteration\s+(?P<step>\d+)/",
        r"(?:Watchdog caught|heartbeat monitor) timed out",
    ],
)
def test_a_fit_pattern_passes(pattern: str) -> None:
    assert not list(faults(pattern))
