"""A recording that cannot be read is no proof of health."""

from __future__ import annotations

from pathlib import Path

from doctor.engine.model import Verdict
from doctor.session.analyze import analyze_paths
from tests.probes.files.trace.samples import kernel, trace, written

HEADING = "step,optype,start_ts,duration,dp_rank,stage\n"
STEADY = "".join(
    f"[rank0]: iteration {n}/ 100 | elapsed time per iteration (ms): 500.0 | loss 2.3\n" for n in range(30)
)


def test_a_table_that_cannot_be_read_is_not_called_healthy(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(HEADING + "0,forward-compute,x,y,0,0\n")
    assert analyze_paths([tmp_path]).diagnosis.verdict is Verdict.UNDETERMINED


def test_steady_logs_beside_it_do_not_make_it_healthy(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(STEADY)
    assert analyze_paths([tmp_path]).diagnosis.verdict is Verdict.HEALTHY
    (tmp_path / "ops.csv").write_text(HEADING + "0,forward-compute,x,y,0,0\n")
    assert analyze_paths([tmp_path]).diagnosis.verdict is Verdict.UNDETERMINED


def test_one_readable_file_of_the_kind_is_enough(tmp_path: Path) -> None:
    written(tmp_path / "good.json", trace([kernel("k", 0.0, 10.0)], 0, 1))
    (tmp_path / "bad.json").write_text('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [')
    assert analyze_paths([tmp_path]).diagnosis.verdict is Verdict.HEALTHY
