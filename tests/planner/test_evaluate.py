"""The planner against published measurements, and against rubbish."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from doctor.planner.accuracy import Row, errors, quantile
from doctor.planner.evaluate import ALLOCATED, BY_RANK, RESERVED, STEP, evaluate
from doctor.views.plan_accuracy import print_accuracy, render

DATA = Path(__file__).parent / "data"
RUBBISH = """
- 7
- text
- {id: no sections, kind: measured}
- id: endless
  kind: measured
  model: {name: x, layers: 2, hidden: 64, heads: 2, vocab: 100, seq: 16}
  hardware: {gpu: A100, count: 1}
  parallel: {tp: 1}
  train: {mbs: 1, gbs: 1, precision: bf16}
  measured: {iter_s: .nan, mem_gib_allocated: .inf}
- id: huge
  kind: measured
  model: {name: x, layers: 2, hidden: 64, heads: 2, vocab: 100, seq: 16}
  hardware: {gpu: A100, count: 1}
  parallel: {tp: 1}
  train: {mbs: 1, gbs: 1, precision: bf16}
  measured: {iter_s: 1e-320, tokens_s_gpu: -5, mem_gib_reserved: "much"}
"""


def row(predicted: float, measured: float = 1.0, low: float | None = None, high: float | None = None) -> Row:
    return Row(id="", file="", kind="dense", held_out=False, predicted=predicted, measured=measured, low=low, high=high)


def test_errors_are_shares_of_the_measured_value() -> None:
    found = errors([row(1.1, low=0.9, high=1.2), row(0.8, low=0.7, high=0.9), row(1.0)])
    assert found
    assert found.n == 3 and found.bias == 0.0
    assert found.median == pytest.approx(0.1)
    assert found.p90 == pytest.approx(0.18)
    assert found.under == pytest.approx(1 / 3)
    assert found.covered == 0.5
    assert found.worst[0].predicted == 0.8
    assert errors([]) is None


def test_quantiles_lie_between_neighbours() -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([1.0], 0.9) == 1.0


def test_published_runs_are_predicted_within_their_ranges() -> None:
    found = evaluate(DATA)
    assert (found.records, found.modelled, found.problems) == (10, 10, ())
    by_name = {one.quantity: one for one in found.overall}
    assert set(by_name) == {STEP, ALLOCATED, RESERVED, BY_RANK}
    step = by_name[STEP].every
    assert step.n == 10 and step.covered == 1.0
    assert step.median < 0.1 and step.p90 < 0.3
    assert by_name[ALLOCATED].every.median < 0.05
    assert by_name[BY_RANK].every.n == 4  # two stages of one run, one of each of the others


def test_rubbish_is_counted_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "rubbish.yaml").write_text(RUBBISH, encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("- [1, 2", encoding="utf-8")
    (tmp_path / "other.yaml").write_text("a: mapping", encoding="utf-8")
    (tmp_path / "good.yaml").write_bytes((DATA / "published.yaml").read_bytes())
    found = evaluate(tmp_path)
    assert len(found.problems) == 2
    reports = {report.file: report for report in found.files}
    assert reports["good"].modelled == 10
    assert sum(reports["rubbish"].reasons.values()) == 3
    assert all(one.every.n for report in found.files for one in report.compared)
    json.loads(render(found))


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    stream = io.StringIO()
    print_accuracy(evaluate(tmp_path), stream, "en", color=False)
    assert "no .yaml file" in stream.getvalue()
    assert "no record could be compared" in stream.getvalue()


def test_text_and_json_tell_the_same() -> None:
    found = evaluate(DATA)
    data = json.loads(render(found))
    assert [one["quantity"] for one in data["overall"]] == [one.quantity for one in found.overall]
    assert data["overall"][0]["all"]["median"] == found.overall[0].every.median
    for lang, name in (("en", "step time"), ("zh", "单步时间")):
        stream = io.StringIO()
        print_accuracy(found, stream, lang, color=False)
        text = stream.getvalue()
        assert name in text and f"{100 * found.overall[0].every.median:.1f} %" in text
        assert "\x1b" not in text
