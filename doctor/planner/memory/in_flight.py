"""How many micro-batches' activations a pipeline rank holds at its peak."""

from __future__ import annotations

from doctor.planner.job import Job, Schedule


def in_flight(job: Job, stage: int) -> tuple[float, ...]:
    """Micro-batches whose activations every chunk of that rank keeps at the peak, in the order of the rank's chunks.

    p: ranks, s: this rank from 0, m: micro-batches, v: chunks a rank.

    - GPipe: all m (Huang et al., arXiv 1811.06965).
    - 1F1B: min(m, p-s): p-s-1 forward passes before the first backward pass, and one (Narayanan et al., SC21, section
      2.2; Megatron-LM, core/pipeline_parallel/schedules.py, get_pp_rank_microbatches).
    - Interleaved: 2(p-s-1) + (v-1)p + 1 passes of one chunk each, at most v*m. Groups of p micro-batches run through
      chunk 0, then chunk 1 ..., so early chunks hold more: they are counted in the order of the schedule table.
    - ZB-H1 as 1F1B (Qi et al., arXiv 2401.10241, section 2.2). ZB-V: p micro-batches of one of two chunks on every
      rank, in all what 1F1B holds on its first (arXiv 2405.15362, section 3).
    - DualPipe: p+1 over both directions (DeepSeek-V3, arXiv 2412.19437, table 2).
    """
    p, m, v = job.layout.pp, job.micro_batches, job.layout.vpp
    if p == 1:
        return (1.0,) * v
    if job.schedule is Schedule.GPIPE:
        return (float(m),) * v
    if job.schedule is Schedule.ZB_V:
        first = min(float(m), 2.0 * p - stage) if m > p else float(m)
        return (min(first, float(m)), min(max(1.0, 2.0 * p - first), float(m)))
    if job.schedule is Schedule.DUALPIPE:
        each = m / 2
        near = min(each, float(p - stage))
        return (near, min(each, p + 1 - near))
    if job.schedule is Schedule.INTERLEAVED and v > 1:
        return _interleaved(p, m, v, stage)
    return (float(min(m, p - stage)),) * v


def _interleaved(p: int, m: int, v: int, stage: int) -> tuple[float, ...]:
    passes = min(2 * (p - stage - 1) + (v - 1) * p + 1, v * m)
    held = [0] * v
    done = 0
    for start in range(0, m, p):
        group = min(p, m - start)
        for chunk in range(v):
            take = min(group, passes - done)
            if take <= 0:
                return tuple(float(count) for count in held)
            held[chunk] += take
            done += take
    return tuple(float(count) for count in held)
