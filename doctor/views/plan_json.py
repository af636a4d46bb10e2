"""A plan as JSON, schema 1 (plan.schema.json beside this file). Changes to it only ever add."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import doctor
from doctor.planner.assess import Assessment
from doctor.planner.effect import Effect
from doctor.planner.job import Job
from doctor.planner.memory.breakdown import StageMemory
from doctor.planner.parameters import total
from doctor.planner.pareto import Candidate
from doctor.planner.planning import Planning
from doctor.planner.step_time import PARTS, StepTime
from doctor.session.change import FileChange
from doctor.views import plan_words as words
from doctor.views.plan_bars import parts
from doctor.views.plan_text import STEPS, effect_lines, step_text
from doctor.views.safe import json_safe

SCHEMA = 1


def render(planning: Planning, lang: str, files: Sequence[FileChange] = ()) -> str:
    return json_safe(json.dumps(as_data(planning, lang, files), ensure_ascii=False, indent=1)) + "\n"


def as_data(planning: Planning, lang: str, files: Sequence[FileChange] = ()) -> dict[str, Any]:
    base, found, best = planning.base, planning.found, planning.chosen
    return {
        "schema": SCHEMA,
        "tool": {"name": "pdoctor", "version": doctor.__version__},
        "model": {"name": base.shape.name, "parameters": total(base.shape), "layers": base.shape.layers},
        "cluster": {
            "gpu": base.cluster.gpu.name,
            "memory_gib": _gib(base.cluster.gpu.memory),
            "gpus": base.cluster.gpus,
            "per_node": base.cluster.per_node,
            "nvlink_domain": base.cluster.nvlink_domain,
        },
        "framework": planning.framework.name,
        "seq": base.seq,
        "global_batch": base.global_batch,
        "assumed": [{"name": name, "value": value} for name, value in planning.assumed],
        "today": assessment(planning.today, lang) if planning.today else None,
        "what_if": effect(planning.change, lang) if planning.change else None,
        "strategy": [
            {"text": step_text(step, lang), "layout": layout(step.job) if step.job else None} for step in planning.steps
        ],
        "search": {"layouts": found.layouts, "considered": found.considered, "too_big": found.too_big}
        if found
        else None,
        "candidates": [_candidate(c, c is best, planning) for c in found.best] if found else [],
        "tied": len(planning.tied),
        "measure": [
            {"layout": layout(c.job), "command": "\n".join(words.command(c.job, planning.framework, STEPS))}
            for c in planning.to_measure
        ],
        "patch": patch(files, lang),
    }


def patch(files: Sequence[FileChange], lang: str) -> list[dict[str, Any]]:
    """Changes of the user's own files."""
    return [
        {
            "path": change.path,
            "diff": change.diff,
            "notes": [
                {"setting": note.knob, "text": note.zh if lang == "zh" else note.en, "written": note.written}
                for note in change.notes
            ],
        }
        for change in files
    ]


def layout(job: Job) -> dict[str, Any]:
    """Degrees and the other settings that a search varies."""
    degrees = ("tp", "cp", "pp", "vpp", "dp", "ep", "etp", "sp", "shard", "first", "last")
    return {
        **{name: getattr(job.layout, name) for name in degrees},
        "micro_batch": job.micro_batch,
        "micro_batches": job.micro_batches,
        "sharding": job.sharding.value,
        "recompute": job.recompute.value,
        "recompute_modules": sorted(job.recompute_modules),
    }


def assessment(found: Assessment, lang: str) -> dict[str, Any]:
    """One job: memory of every stage in GiB, seconds of a step."""
    return {
        "layout": layout(found.job),
        "fits": found.fits,
        "memory_gib": [_stage(stage) for stage in found.stages],
        "step_time_s": _time(found.time),
        "bubble": round(found.bubble, 5),
        "exposed_s": {role: round(amount, 5) for role, amount in found.exposed.items()},
        "mfu": round(found.mfu, 4) if found.mfu else None,
        "problems": [problem.get(lang) for problem in found.problems],
    }


def effect(found: Effect, lang: str) -> dict[str, Any]:
    """What a change does: the four figures before and after, with the range of the latter."""
    before, after = found.before, found.after
    peak = after.fullest
    return {
        "changes": [
            {"name": name, "from": _plain(old), "to": _plain(new)} for name, (old, new) in found.changes.items()
        ],
        "memory_gib": {
            "before": _gib(before.fullest.device), "after": _gib(peak.device), "low": _gib(peak.low),
            "high": _gib(peak.high), "stages": [_gib(stage.device) for stage in after.stages],
        },
        "fits": after.fits,
        "step_time": {
            "before": _round(before.time.likely), "after": _round(after.time.likely), "low": _round(after.time.low),
            "high": _round(after.time.high),
        } if before.time and after.time else None,
        "bubble": {"before": round(before.bubble, 5), "after": round(after.bubble, 5)},
        "exposed_s": {
            "before": _round(sum(before.exposed.values())), "after": _round(sum(after.exposed.values())),
        } if before.time and after.time else None,
        "global_batch": {"before": before.job.global_batch, "after": after.job.global_batch},
        "checkpoint": "reshard" if found.reshards else "as it is",
        "text": effect_lines(found, lang),
    }  # fmt: skip


def _candidate(candidate: Candidate, best: bool, planning: Planning) -> dict[str, Any]:
    return {
        "layout": layout(candidate.job),
        "chosen": best,
        "fits": True if candidate.fits else None,
        "memory_gib": {"likely": _gib(candidate.usual), "high": _gib(candidate.peak)},
        "headroom_gib": _gib(candidate.headroom),
        "step_time_s": {
            "low": _round(candidate.low), "likely": _round(candidate.likely), "high": _round(candidate.high),
        },
        "bubble": round(candidate.bubble, 5),
        "waits": round(candidate.waits, 4),
        "risks": list(candidate.risks),
        "distance": candidate.distance,
        "flags": words.flags(candidate.job, planning.framework),
    }  # fmt: skip


def _stage(stage: StageMemory) -> dict[str, Any]:
    return {
        "stage": stage.stage,
        **{name: _gib(amount) for name, amount in parts(stage).items()},
        "allocated": _gib(stage.allocated),
        "reserved": _gib(stage.reserved),
        "device": _gib(stage.device),
        "low": _gib(stage.low),
        "high": _gib(stage.high),
    }


def _time(time: StepTime | None) -> dict[str, Any] | None:
    if time is None:
        return None
    whole = {"low": _round(time.low), "likely": _round(time.likely), "high": _round(time.high)}
    return {**whole, "parts": {name: _round(time.parts[name]) for name in PARTS}}


def _gib(count: float) -> float:
    return round(count / words.GIB, 2)


def _round(seconds: float) -> float:
    return float(f"{seconds:.5g}")


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return value if isinstance(value, bool | int | float) or value is None else str(value)
