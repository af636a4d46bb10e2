"""Micro-batch, global batch and accumulation steps: two of them and the data-parallel size fix the third."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.adapters.model import Note

TRIANGLE = ("micro_batch", "global_batch", "grad_accum")


def completed(
    changes: Mapping[str, Any], now: Mapping[str, Any], writes: frozenset[str]
) -> tuple[dict[str, Any], list[Note]]:
    """The changes with what the framework writes of the batch put in place of what it does not.

    `now`: the job's settings as they are (`dp` and the batch). writes: which of the three it has settings for.
    global_batch = micro_batch * grad_accum * dp (Megatron-LM, core/num_microbatches_calculator.py; DeepSpeed,
    runtime/config.py).
    """
    named = [name for name in TRIANGLE if name in changes]
    change = dict(changes)
    if not named or not writes:
        return change, []
    dp = _ranks(changes, now)
    micro = changes.get("micro_batch", now.get("micro_batch"))
    missing = [name for name in named if name not in writes]
    if "global_batch" in missing and "grad_accum" in writes:
        whole = change.pop("global_batch")
        if "grad_accum" in changes:
            return change, []
        if not dp or not micro or whole % (micro * dp):
            return change, [_unsolved("global_batch", whole, micro, dp)]
        change["grad_accum"] = whole // (micro * dp)
    if "grad_accum" in missing and "global_batch" in writes:
        steps = change.pop("grad_accum")
        if "global_batch" in changes:
            return change, []
        before = [now.get(name) for name in TRIANGLE]
        if dp and micro:
            change["global_batch"] = micro * steps * dp
        elif micro and (whole := _in_proportion(before, micro * steps)):
            change["global_batch"] = whole
        elif "micro_batch" not in changes:
            return change, [_unsolved("grad_accum", steps, micro, dp)]
    if writes == frozenset(TRIANGLE):
        change.update(_all_three(changes, now, micro, dp))
    return change, []


def _in_proportion(before: list[Any], per_rank: int) -> int | None:
    """The global batch when a rank's share becomes `per_rank` and the ranks stay; None where that is not known."""
    if not all(isinstance(value, int) and value > 0 for value in before):
        return None
    micro, whole, steps = before
    new, rest = divmod(whole * per_rank, micro * steps)
    return None if rest else int(new)


def _all_three(changes: Mapping[str, Any], now: Mapping[str, Any], micro: Any, dp: int | None) -> dict[str, int]:
    """What DeepSpeed checks: train_batch_size is the product of the other two and the data-parallel size."""
    steps = changes.get("grad_accum", now.get("grad_accum"))
    if not micro or not dp:
        return {}
    if "global_batch" in changes and "grad_accum" not in changes and changes["global_batch"] % (micro * dp) == 0:
        return {"grad_accum": changes["global_batch"] // (micro * dp)}
    if "global_batch" not in changes and steps and now.get("global_batch"):
        return {"global_batch": micro * steps * dp}
    return {}


def _ranks(changes: Mapping[str, Any], now: Mapping[str, Any]) -> int | None:
    """Data-parallel size after the change, as far as it is known."""
    dp = changes.get("dp", now.get("dp"))
    if dp is None and all(now.get(name) for name in TRIANGLE):
        dp, rest = divmod(now["global_batch"], now["micro_batch"] * now["grad_accum"])
        dp = None if rest else dp
    return dp if isinstance(dp, int) and dp > 0 else None


def _unsolved(name: str, value: Any, micro: Any, dp: int | None) -> Note:
    missing = "data-parallel size" if not dp else "micro-batch" if not micro else ""
    why = f"the {missing} is not known" if missing else f"it is not a multiple of micro-batch {micro} x {dp} ranks"
    reason = {"data-parallel size": "数据并行数未知", "micro-batch": "微批大小未知"}.get(
        missing, f"它不是 微批 {micro} × {dp} 个 rank 的整数倍"
    )
    return Note(
        name,
        f"{name} = {value} is not written: global batch = micro-batch x accumulation steps x data-parallel ranks, "
        f"and {why}",
        f"未写入 {name} = {value}：全局批 = 微批 × 累积步数 × 数据并行数，而{reason}",
        written=False,
    )
