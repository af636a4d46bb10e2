"""The line that shows the failure is what is shown first, whatever tells most of its cause."""

from __future__ import annotations

from pathlib import Path

from doctor.session.analyze import analyze_paths
from doctor.views.proofs import proofs

STEP = "[rank0]: iteration {step:8d}/ 1000 | elapsed time per iteration (ms): 812.3 | lm loss: 2.1E+00 |\n"
OOM = "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.06 GiB is free.\n"


def test_the_failure_comes_before_what_weighs_more(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("".join(STEP.format(step=step) for step in range(1, 31)) + OOM)
    finding = next(f for f in analyze_paths([tmp_path]).diagnosis.findings if f.rule.id == "MEM009")
    first, *rest = proofs(finding)
    assert "out of memory" in first.sources[0].text
    assert max(outcome.weight for outcome in rest) > first.weight
    assert [outcome.weight for outcome in rest] == sorted((outcome.weight for outcome in rest), reverse=True)


def test_where_no_line_shows_a_failure_the_strongest_comes_first(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 3 --num-attention-heads 32 --hidden-size 4096 --num-layers 32\n"
    )
    findings = [finding for finding in analyze_paths([tmp_path]).diagnosis.findings if proofs(finding)]
    assert findings
    for finding in findings:
        weights = [outcome.weight for outcome in proofs(finding)]
        assert weights == sorted(weights, reverse=True)
