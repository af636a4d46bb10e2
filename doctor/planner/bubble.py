"""The pipeline bubble: the share of a step in which a stage has nothing to do."""

from __future__ import annotations

from doctor.planner.job import Schedule


def bubble(
    schedule: Schedule,
    p: int,
    m: int,
    v: int = 1,
    forward: float = 1.0,
    input_grad: float = 1.0,
    weight_grad: float = 1.0,
) -> float:
    """Idle share of the pipelined part of a step, 0 to 1.

    p: stages; m: micro-batches; v: model chunks a stage; forward, input_grad, weight_grad: times of one micro-batch on
    one stage in any common unit (equal as a rule: each is one pass over the matrix products).

    - GPipe and 1F1B: (p-1) / (m+p-1). Interleaved: (p-1) / (v*m+p-1). Narayanan et al., SC21 (arXiv 2104.04473),
      section 2.2, as a share of the whole step; the paper's own (p-1)/m is the overhead over the ideal time.
    - ZB-H1: the idle time is (p-1)*(F+B-W). Qi et al., arXiv 2401.10241, table 1.
    - ZB-V: none when F = B = W (the same authors, arXiv 2405.15362).
    - DualPipe: (p/2-1) * (F&B + B - 3W), with F&B taken as F+B where nothing overlaps. DeepSeek-V3, arXiv 2412.19437,
      table 2, whose B is the whole backward pass (input_grad + weight_grad here).
    """
    if p <= 1:
        return 0.0
    work = m * (forward + input_grad + weight_grad)
    if schedule is Schedule.INTERLEAVED:
        return (p - 1) / (v * m + p - 1)
    if schedule is Schedule.ZB_H1:
        idle = max(0.0, (p - 1) * (forward + input_grad - weight_grad))
    elif schedule is Schedule.ZB_V:
        idle = 0.0
    elif schedule is Schedule.DUALPIPE:
        backward = input_grad + weight_grad
        idle = max(0.0, (p / 2 - 1) * (forward + backward + backward - 3 * weight_grad))
    else:
        return (p - 1) / (m + p - 1)
    return idle / (work + idle)


def micro_batches_for(p: int, v: int, share: float) -> int:
    """Fewest micro-batches with which the bubble of 1F1B (v = 1) or of the interleaved schedule is at most `share`.

    Solved from (p-1) / (v*m+p-1) <= share: 27 for p = 4 and 10 %.
    """
    if p <= 1:
        return 1
    m = max(1, int((p - 1) * (1 - share) / (share * v)))
    while (p - 1) / (v * m + p - 1) > share:
        m += 1
    return m
