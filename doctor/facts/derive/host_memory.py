"""Who was killed for host memory, in which phase, and whether its size is that of the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.facts.derive.oom import fact, number
from doctor.facts.derive.oom_site import entity_of
from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore

TELLING = ("host.oom_killer", "host.oom_scheduler", "ray.oom", "python.host_memory_error")
"""Who says that memory was the reason; SIGKILL alone does not."""
KILLS = (*TELLING, "host.sigkill")
REFUSED = "python.host_memory_error"
NEEDS = (
    *(f"event:{name}" for name in KILLS),
    *("config.params", "node.memory_total", "event:dataloader.worker_killed"),
)
GIVES = (
    *("hostmem.kills", "hostmem.told", "hostmem.phase", "hostmem.absurd_request"),
    *("hostmem.killed_rss", "hostmem.rss_is_model", "hostmem.killed_python"),
)

PHASE_ORDER = ("start", "launch", "init", "load", "training", "eval", "save", "exit")
MODEL_SHARES = ((0.7, 1.6), (1.7, 2.6))
"""Resident size over the weights in 16 bit: one copy with its overhead, or one in 32 bit (or two in 16)."""

NO_HOST = 64 * 1024**4
"""Bytes that Linux can map of physical memory with page tables of four levels: no host serves a request as large."""
TIMES = 8
"""A request of so many times the memory of the largest node is not one that another node could serve."""


def derive(store: FactStore) -> Iterable[Fact]:
    absurd: dict[str, Event] = {}
    kills: dict[str, list[Event]] = {}
    least = _no_host(store)
    for name in (*KILLS, "dataloader.worker_killed"):
        for event in store.events(name):
            if name == REFUSED and (number(event, "requested") or 0) >= least:
                absurd.setdefault(entity_of(event), event)
            else:
                kills.setdefault(entity_of(event), []).append(event)
    for entity, event in absurd.items():
        yield fact("hostmem.absurd_request", int(number(event, "requested") or 0), entity, event)
    for entity, events in kills.items():
        telling = [event for event in events if event.name in TELLING]
        if entity in absurd and not telling:
            continue  # the launcher kills those that are left
        yield fact("hostmem.kills", len(events), entity, events[0])
        if telling:
            yield fact("hostmem.told", True, entity, telling[0])
        yield from _phase(entity, events, store)
        yield from _size(entity, events, store)


def _no_host(store: FactStore) -> float:
    """Bytes from which a refused request says nothing of how full the host was, for no host could have served it."""
    nodes = [value for fact in store.every("node.memory_total") if isinstance(value := fact.value, int) and value > 0]
    return min(NO_HOST, TIMES * max(nodes, default=NO_HOST))


def _phase(entity: str, kills: list[Event], store: FactStore) -> Iterator[Fact]:
    """The last phase of the log that got furthest: launchers and the kernel do not know how far the program was."""
    last: dict[tuple[str, int | None], Event] = {}
    for event in store.events():
        key = (event.source.path, event.rank)
        if entity_of(event) == entity and (key not in last or event.order > last[key].order):
            last[key] = event
    known = [event for event in last.values() if event.phase in PHASE_ORDER]
    if known:
        furthest = max(known, key=lambda event: PHASE_ORDER.index(event.phase))
        if furthest.phase not in ("start", "launch"):
            yield fact("hostmem.phase", furthest.phase, entity, furthest)


def _size(entity: str, kills: list[Event], store: FactStore) -> Iterator[Fact]:
    sized = [(size, event) for event in kills if (size := number(event, "rss")) is not None]
    named = [event for event in kills if "process" in event.fields]
    if named:
        python = [e for e in named if "python" in str(e.fields["process"]) or "pt_" in str(e.fields["process"])]
        yield fact("hostmem.killed_python", bool(python), entity, (python or named)[0])
    if not sized:
        return
    rss, event = max(sized, key=lambda pair: pair[0])
    yield fact("hostmem.killed_rss", int(rss), entity, event)
    params = store.get("config.params")
    if params is not None and isinstance(params.value, int | float) and params.value > 0:
        share = rss / (2.0 * params.value)
        yield fact("hostmem.rss_is_model", any(low <= share <= high for low, high in MODEL_SHARES), entity, event)
