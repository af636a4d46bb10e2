from __future__ import annotations

import pytest

from doctor.session.watch.metrics import Metric, Metrics, Sample, rendered
from doctor.session.watch.model import Kind, Status
from tests.session.watch.announcements import said


def test_a_family_has_help_type_and_samples() -> None:
    text = rendered([Metric("pdoctor_step", "gauge", "Last step.", [Sample(7)])])
    assert text == "# HELP pdoctor_step Last step.\n# TYPE pdoctor_step gauge\npdoctor_step 7\n"


def test_labels_and_help_are_escaped() -> None:
    text = rendered([Metric("m", "gauge", 'a "b" \\ c\nd', [Sample(1, {"path": 'C:\\x "y"\nz'})])])
    assert text.splitlines()[0] == r'# HELP m a "b" \\ c\nd'
    assert text.splitlines()[2] == r'm{path="C:\\x \"y\"\nz"} 1'


@pytest.mark.parametrize(
    ("value", "shown"), [(float("nan"), "NaN"), (float("inf"), "+Inf"), (0.25, "0.25"), (1e16, "1e+16")]
)
def test_numbers_are_written_as_prometheus_reads_them(value: float, shown: str) -> None:
    assert rendered([Metric("m", "gauge", "x", [Sample(value)])]).endswith(f"m {shown}\n")


def test_what_the_logs_do_not_say_is_left_out() -> None:
    metrics = Metrics()
    metrics.see(Status(at=1.0, ranks_alive=3, ranks_silent=1, step=12))
    text = metrics.text()
    assert 'pdoctor_ranks{state="silent"} 1' in text
    assert "pdoctor_step 12" in text
    assert "pdoctor_mfu_ratio" not in text


def test_a_finding_stands_until_it_is_resolved() -> None:
    metrics = Metrics()
    metrics.hear(said())
    metrics.hear(said(kind=Kind.STORM, count=1023))
    metrics.hear(said(kind=Kind.UPDATED))
    assert metrics.text().count("\npdoctor_finding{") == 1
    assert 'severity="fatal"' in metrics.text()
    metrics.hear(said(kind=Kind.RESOLVED))
    assert "\npdoctor_finding{" not in metrics.text()
    assert 'pdoctor_announcements_total{kind="updated"} 1' in metrics.text()


def test_a_failure_that_no_rule_explains_stands_too() -> None:
    metrics = Metrics()
    metrics.hear(said(kind=Kind.UNEXPLAINED, finding=None))
    assert 'cause="unexplained",severity="fatal"' in metrics.text()


def test_many_findings_and_entities_stay_bounded() -> None:
    metrics = Metrics()
    for number in range(500):
        metrics.hear(said(f"key {number}", entities=tuple(f"rank:{rank}" for rank in range(4096))))
    assert metrics.text().count("\npdoctor_finding{") == 100
    assert len(metrics.text()) < 100_000


def test_what_could_steer_a_terminal_is_written_out() -> None:
    text = rendered([Metric("m", "gauge", "x", [Sample(1, {"host": "a\x1b[2J\x9b\u202eb\r"})])])
    assert text.splitlines()[2] == r'm{host="a\\x1b[2J\\x9b\\x202eb\\x0d"} 1'


def test_of_many_findings_the_last_hundred_are_shown() -> None:
    metrics = Metrics()
    for attempt in range(120):
        metrics.hear(said(f"MEM001@{attempt}", episode=attempt))
    text = metrics.text()
    assert text.count("pdoctor_finding{") == 100
    assert 'key="MEM001@119"' in text and 'key="MEM001@20"' in text and 'key="MEM001@19"' not in text
