"""Who holds the memory of each GPU: the framework, its cache, what torch does not see, other processes, nobody.

The driver tells the whole and what each process has; the recorder within the job, or a snapshot of the allocator, tells
what the process does with it. What neither tells is unknown here, and never taken for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from doctor.facts.model import Value
from doctor.facts.store import FactStore
from doctor.session.pictures import Bar, Part, Picture

if TYPE_CHECKING:
    from doctor.planner.memory.breakdown import StageMemory

MOST = 1024


@dataclass(frozen=True, slots=True)
class Amount:
    """A part of a GPU's memory in B; None where nothing tells how large it is.

    kind: allocated (tensors), cached (reserved, free), fragmented (reserved, free, and part of a block in use), outside
    (CUDA context, NCCL, other libraries of the job's process), others (other processes), outside_or_others (where
    the two cannot be told apart), used (by whomever), driver, free.
    """

    kind: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Compared:
    """A category as it was measured, None where it was not, and as the planner's model has it; in B."""

    kind: str
    measured: int | None
    predicted: int


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """One GPU, or one rank whose GPU is not known. `apart`: why the driver's and the recorder's figures, both there,
    are not put together: ended (the process is gone from the GPU)."""

    gpu: str | None
    rank: str | None
    total: int | None
    amounts: tuple[Amount, ...]
    compared: tuple[Compared, ...] = ()
    apart: str = ""


def memory_by_gpu(store: FactStore) -> tuple[GpuMemory, ...]:
    """Every GPU and rank that something is known of, in order."""
    ranks = _entities(store, ("recording.reserved", "snapshot.reserved"), "rank:")
    gpus = _entities(store, ("gpu.memory_used", "gpu.memory_total"), "gpu:")
    stages = _predicted(store) if ranks else ()
    owner = {gpu: rank for rank in ranks if (gpu := _gpu_of(store, rank, gpus)) is not None}
    found = [_gpu(store, gpu, owner.get(gpu), stages) for gpu in gpus]
    alone = [rank for rank in ranks if rank not in owner.values()]
    found += [_rank_alone(store, rank, stages) for rank in alone]
    return tuple(one for one in found[:MOST] if any(amount.bytes is not None for amount in one.amounts))


def picture_of(found: tuple[GpuMemory, ...]) -> Picture | None:
    """The same as bars, of the GPUs whose size is known; what is not known is the rest of the bar."""
    bars = []
    for one in found:
        if one.total:
            known = [Part(f"gpu_{a.kind}", a.bytes / one.total) for a in one.amounts if a.bytes]
            rest = 1 - sum(part.share for part in known)
            parts = (*known, Part("gpu_unknown", rest)) if rest > 0.005 else tuple(known)
            bars.append(Bar(one.rank or one.gpu or "job", 0.0, parts, one.total))
    return Picture("gpu_memory", tuple(bars)) if bars else None


def _gpu(store: FactStore, gpu: str, rank: str | None, stages: tuple[StageMemory, ...]) -> GpuMemory:
    total, used, free = (_number(store, f"gpu.memory_{name}", gpu) for name in ("total", "used", "free"))
    if free is None and total is not None and used is not None:
        free = total - used
    of_driver = total - used - free if total is not None and used is not None and free is not None else None
    ends = [Amount("driver", of_driver)] if of_driver else []
    ends.append(Amount("free", free))
    if rank is None:
        return GpuMemory(gpu, None, total, (Amount("used", used), *ends))
    process = _of_process(store, gpu, _number(store, "recording.pid", rank))
    reserved = _reserved(store, rank)
    gone = process == 0 or (used is not None and reserved is not None and used < reserved)
    if gone:
        return GpuMemory(gpu, rank, total, (Amount("used", used), *ends), _compare(store, rank, None, stages), "ended")
    own = _framework(store, rank)
    if process is not None and reserved is not None and process >= reserved:
        outside = process - reserved
        rest = [Amount("outside", outside), Amount("others", max(used - process, 0) if used is not None else None)]
    else:
        outside = None
        both = used - reserved if used is not None and reserved is not None else None
        rest = [Amount("outside_or_others", both)]
    return GpuMemory(gpu, rank, total, (*own, *rest, *ends), _compare(store, rank, outside, stages))


def _rank_alone(store: FactStore, rank: str, stages: tuple[StageMemory, ...]) -> GpuMemory:
    """A rank by its own account: nothing was asked of the driver, or its GPU is not known."""
    total = _number(store, "recording.device_memory", rank)
    rest = (Amount("outside", None), Amount("others", None), Amount("free", None))
    return GpuMemory(None, rank, total, (*_framework(store, rank), *rest), _compare(store, rank, None, stages))


def _framework(store: FactStore, rank: str) -> Iterator[Amount]:
    """What the caching allocator has: the recorder's last step, else a snapshot."""
    allocated, reserved = _number(store, "recording.allocated", rank), _number(store, "recording.reserved", rank)
    if allocated is not None and reserved is not None:
        split = _number(store, "recording.inactive_split", rank)
        yield Amount("allocated", allocated)
        yield Amount("cached", max(reserved - allocated - (split or 0), 0))
        yield Amount("fragmented", split)
        return
    allocated, reserved = _number(store, "snapshot.allocated", rank), _number(store, "snapshot.reserved", rank)
    yield Amount("allocated", allocated)
    yield Amount("cached", reserved - allocated if reserved is not None and allocated is not None else None)


def _reserved(store: FactStore, rank: str) -> int | None:
    recorded = _number(store, "recording.reserved", rank)
    return recorded if recorded is not None else _number(store, "snapshot.reserved", rank)


def _of_process(store: FactStore, gpu: str, pid: int | None) -> int | None:
    """Bytes of a process by the driver's list: 0 where the list does not have it, None where sizes are not told."""
    fact = store.get("gpu.processes", gpu)
    if fact is None or pid is None or not isinstance(fact.value, tuple):
        return None
    sizes = {words[0]: words[-1] for text in fact.value if len(words := str(text).split()) > 1}
    if str(pid) not in sizes:
        return 0
    size = sizes[str(pid)]
    return int(size) or None if size.isdecimal() and len(size) < 16 else None


def _gpu_of(store: FactStore, rank: str, gpus: list[str]) -> str | None:
    """The GPU of a rank: where its process is, else by its address, else by its number on the rank's host."""
    host = _own(store, "rank.host", rank)
    near = [gpu for gpu in gpus if gpu.startswith(f"gpu:{host}/")] if host else []
    for name, fact in (("recording.pid", "gpu.process_pids"), ("recording.device_bus", "gpu.bus_id")):
        wanted = _own(store, name, rank)
        for gpu in near if wanted is not None else []:
            told = _own(store, fact, gpu)
            if told == wanted or (isinstance(told, tuple) and wanted in told):
                return gpu
    index = _own(store, "recording.device_index", rank)
    return next((gpu for gpu in near if gpu.rpartition("/")[2] == str(index)), None) if index is not None else None


def _predicted(store: FactStore) -> tuple[StageMemory, ...]:
    """The planner's model of the job, where the facts tell one."""
    # the planner reads its tables of models and GPUs, which takes longer than most reports
    from doctor.planner.errors import PlanError
    from doctor.planner.from_facts import understand
    from doctor.planner.memory.breakdown import memory

    try:
        job = understand(store).job
        return memory(job) if job is not None else ()
    except (PlanError, ZeroDivisionError, OverflowError):
        return ()


def _compare(store: FactStore, rank: str, outside: int | None, stages: tuple[StageMemory, ...]) -> tuple[Compared, ...]:
    """Categories beside the model: of the rank's own stage, of the fullest where that is not known."""
    if not stages:
        return ()
    number = _number(store, "recording.stage", rank)
    stage = stages[number] if number is not None and number < len(stages) else max(stages, key=lambda one: one.device)
    held = {name: _number(store, f"recording.held_{name}", rank) for name in ("parameters", "gradients", "optimizer")}
    peak, reserved = (_number(store, f"recording.{name}_peak", rank) for name in ("allocated", "reserved"))
    known = [size for size in held.values() if size is not None]
    rest = peak - sum(known) if peak is not None and len(known) == len(held) else None
    rows = [(name, held[name], getattr(stage, name)) for name in held]
    rows.append(("rest", rest, stage.activations + stage.working + stage.logits + stage.buffers))
    rows.append(("reserve", reserved - peak if reserved is not None and peak is not None else None, stage.reserve))
    rows.append(("outside", outside, stage.context))
    return tuple(Compared(kind, measured, round(predicted)) for kind, measured, predicted in rows)


def _entities(store: FactStore, names: tuple[str, ...], prefix: str) -> list[str]:
    found = {fact.entity for name in names for fact in store.every(name) if fact.entity.startswith(prefix)}
    return sorted(found, key=lambda entity: ([int(n) for n in re.findall(r"\d{1,9}", entity)], entity))


def _own(store: FactStore, name: str, entity: str) -> Value | None:
    """The value of this entity itself: what its node or job says is not its own."""
    fact = store.get(name, entity)
    return fact.value if fact is not None and fact.entity == entity else None


def _number(store: FactStore, name: str, entity: str) -> int | None:
    value = _own(store, name, entity)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
