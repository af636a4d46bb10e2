"""What signs of decline mean for the job: which time-out will strike and when, and when memory will be full.

Where nobody watched, the same statistics as of a watched job are run over the saved log, but for silence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.beat import BEATS
from doctor.facts.derive.card import card_memory
from doctor.facts.derive.progress import number
from doctor.facts.model import Event, Fact, Source
from doctor.facts.store import FactStore
from doctor.facts.vitals.pulse import OVER, patience
from doctor.facts.vitals.stream import OF_INTEREST, Stream
from doctor.facts.vitals.tell import fact, lockstep, memory, straggler, timing, trends

NEEDS = (
    *(f"event:{name}" for name in sorted(OF_INTEREST)),
    *(
        "event:torch.watchdog_timeout",
        "event:torch.timeout_set",
        "event:gpu.capacity",
        "env.DEEPSPEED_TIMEOUT",
        "gpu.memory_total",
        "gpu.name",
        "config.gpu_model",
    ),
    *("config.timeout", "config.backend", "config.framework", "node.memory_total", "run.step_time"),
    *("live.watching", "live.silence", "live.step_gap", "live.longest_pause", "live.silent_since", "live.phase"),
)
GIVES = (
    *("live.timeout", "live.timeout_set", "live.stalled", "live.may_be_pause", "live.long_pause", "live.outlived"),
    *("live.strikes_in", "live.strikes_at", "live.save_share"),
    *("live.slowdown", "live.slowdown_of", "live.gradient_spikes", "live.gradient_spike", "live.loss_scale_fall"),
    *("live.loss_scale", "live.expert_drift", "live.data_share", "live.data_share_before", "live.save_time"),
    *("live.memory_creep", "live.memory_used", "live.memory_gained", "live.memory_limit"),
    *("live.host_memory_creep", "live.host_memory_used", "live.host_memory_gained", "live.memory_steps_left"),
    *("live.memory_time_left", "live.host_memory_steps_left", "live.host_memory_time_left"),
    *("live.slow_rank", "live.slow_of_two", "live.slow_rank_ratio", "live.slow_rank_of", "live.lockstep"),
)
NCCL, OTHERS = 600.0, 1800.0
"""Seconds. Time-outs of process groups unless set: NCCL (torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp,
kProcessGroupNCCLDefaultTimeout), and all others, such as gloo (torch/csrc/distributed/c10d/Backend.hpp)."""
UNITS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
FRAMEWORKS = {
    **dict.fromkeys(("hf", "llamafactory", "swift", "axolotl", "trl"), 1800.0),
    **dict.fromkeys(("deepspeed", "openrlhf", "lightning"), 1800.0),
    "torchtitan": 100.0,
}
"""Those that frameworks set by themselves: the Trainer of transformers and what is built on it (ddp_timeout in
src/transformers/training_args.py), DeepSpeed (deepspeed/constants.py, default_pg_timeout: DEEPSPEED_TIMEOUT, in
minutes), Lightning (lightning/fabric/strategies/ddp.py, timeout), torchtitan from the second step on
(torchtitan/config/job_config.py, Comm.train_timeout_seconds). Megatron-LM sets the ten minutes of NCCL."""


def derive(store: FactStore) -> Iterator[Fact]:
    """Facts of each run; of the job when there is one run."""
    timeout, is_set, source = time_out(store)
    card = card_memory(store)
    if store.get("live.watching") is None:
        found = list(_saved(store))
        yield from found
        store = FactStore((*store.facts(), *found))
    if any(store.every("live.silence")) or any(store.every("live.save_time")):
        yield fact("live.timeout", timeout, "job", [source])
        yield fact("live.timeout_set", is_set, "job", [source])
    yield from _stalls(store, timeout)
    for save in store.every("live.save_time"):
        if isinstance(save.value, int | float):
            yield fact("live.save_share", round(save.value / timeout, 3), save.entity, [save.source, source])
    yield from _filling(store, card[0] if card is not None else None)


def _saved(store: FactStore) -> Iterator[Fact]:
    """The trends of logs that are read as a whole."""
    runs: dict[str, dict[tuple[str, int | None], list[Event]]] = defaultdict(lambda: defaultdict(list))
    for name in OF_INTEREST:
        for event in store.events(name):
            runs[event.run][event.source.path, event.rank].append(event)
    for run, logs in runs.items():
        entity = "job" if len(runs) == 1 else f"run:{run}"
        streams = []
        for (path, rank), events in logs.items():
            if not any(event.name in BEATS for event in events):
                continue
            stream = Stream(run, path, rank, 0.0)
            for event in sorted(events, key=lambda event: event.order):
                stream.take(event, 0.0)
            streams.append(stream)
        if streams:
            main = max(streams, key=lambda stream: stream.pulse.beats)
            yield from trends(entity, main, timing(streams))
            yield from memory(entity, streams)
            yield from straggler(streams)
            yield from lockstep(entity, streams)


def time_out(store: FactStore) -> tuple[float, bool, Source | None]:
    """Seconds after which a collective that does not end ends the job, whether the job set them, and where."""
    for event in reversed(list(store.events("torch.timeout_set"))):
        parts = ((number(event, name) or 0.0) * seconds for name, seconds in UNITS.items())
        return sum(parts), True, event.source
    set_by_job = store.get("config.timeout")
    if set_by_job is not None and isinstance(set_by_job.value, int | float) and set_by_job.value > 0:
        return float(set_by_job.value), True, set_by_job.source
    for event in store.events("torch.watchdog_timeout"):
        if (milliseconds := number(event, "timeout_ms")) is not None and milliseconds > 0:
            return milliseconds / 1000, True, event.source
    framework, minutes = store.get("config.framework"), store.get("env.DEEPSPEED_TIMEOUT")
    own = framework is not None and framework.value in ("deepspeed", "openrlhf")  # others hand DeepSpeed theirs
    if own and minutes is not None and re.fullmatch(r"0*[1-9]\d{0,6}", str(minutes.value)):
        return int(str(minutes.value)) * UNITS["minutes"], True, minutes.source
    if framework is not None and (usual := FRAMEWORKS.get(str(framework.value))) is not None:
        return usual, False, framework.source
    backend = store.get("config.backend")
    if backend is not None and "nccl" not in str(backend.value).lower():
        return OTHERS, False, backend.source
    return NCCL, False, None


def _stalls(store: FactStore, timeout: float) -> Iterator[Fact]:
    for silence in store.every("live.silence"):
        where = silence.entity
        quiet = _number(store, "live.silence", where) or 0.0
        usual, longest = (_number(store, name, where) or 0.0 for name in ("live.step_gap", "live.longest_pause"))
        announced = store.get("live.phase", where) is not None
        may = patience(usual, longest, timeout, announced)
        stalled = quiet > may.word
        yield fact("live.stalled", stalled, where, [silence.source])
        if stalled:
            yield fact("live.may_be_pause", quiet <= may.doubt, where, [silence.source])
            yield fact("live.long_pause", may.word < may.doubt, where, [silence.source])
            yield fact("live.outlived", quiet > timeout + OVER, where, [silence.source])
            yield fact("live.strikes_in", round(max(timeout - quiet, 0.0), 1), where, [silence.source])
            since = _number(store, "live.silent_since", where) or 0.0
            yield fact("live.strikes_at", since + timeout, where, [silence.source])


def _filling(store: FactStore, card: float | None) -> Iterator[Fact]:
    """Steps and seconds until growing memory meets its limit."""
    for prefix, limited in (("live.memory", "live.memory_limit"), ("live.host_memory", "node.memory_total")):
        for creep in store.every(f"{prefix}_creep"):
            where = creep.entity
            per_step, used = _number(store, creep.name, where), _number(store, f"{prefix}_used", where)
            limit = _number(store, limited, where) or (card if prefix == "live.memory" else _only(store, limited))
            if not per_step or per_step < 0 or used is None or not limit:
                continue
            steps = max((limit - used) / per_step, 0.0)
            yield fact(f"{prefix}_steps_left", int(steps), where, creep.because)
            if seconds := _number(store, "live.step_time", where) or _number(store, "run.step_time", where):
                yield fact(f"{prefix}_time_left", round(steps * seconds, 1), where, creep.because)


def _only(store: FactStore, name: str) -> float | None:
    """The value that is known of one node alone: a pasted output does not name its host."""
    found = list(store.every(name))
    return _number(store, name, found[0].entity) if len({fact.entity for fact in found}) == 1 else None


def _number(store: FactStore, name: str, entity: str) -> float | None:
    found = store.get(name, entity)
    return float(found.value) if found is not None and isinstance(found.value, int | float) else None
