"""How long the engine takes: the facts and events of 1,024 ranks through at least 200 rules."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle

from doctor.engine import diagnose
from doctor.facts.derive import run_derivations
from doctor.facts.model import Event, Fact, Scope, Source, Value
from doctor.facts.store import FactStore
from doctor.rulebase import RuleBase, load_rulebase

RANKS = 1024
RULES = 200
PER_NODE = 8


def main() -> None:
    base = _at_least(load_rulebase().base, RULES)
    derive, reason = [], []
    for _ in range(5):
        store = large_job()
        start = time.perf_counter()
        run_derivations(store)
        middle = time.perf_counter()
        diagnosis = diagnose(store, base)
        derive.append(middle - start)
        reason.append(time.perf_counter() - middle)
    facts, events = sum(1 for _ in store.facts()), len(store.events())
    each = sum(rule.scope is Scope.RANK for rule in base.rules.values())
    print(f"{RANKS} ranks, {facts} facts, {events} events, {len(base.rules)} rules, {each} of them for each rank")
    print(f"findings {len(diagnosis.findings)}")
    print(f"derivations {statistics.median(derive):.2f} s, rules {statistics.median(reason):.2f} s (medians of 5)")


def _at_least(base: RuleBase, number: int) -> RuleBase:
    """The shipped rules, some again under other ids up to `number`, every third of these for each rank alone."""
    rules = dict(base.rules)
    for rule in cycle(base.rules.values()):
        if len(rules) >= number:
            break
        again = f"{rule.id}-{len(rules)}"
        scope = Scope.RANK if len(rules) % 3 == 0 else rule.scope
        rules[again] = replace(rule, id=again, scope=scope, explains=())
    return replace(base, rules=rules)


def large_job() -> FactStore:
    """One rank out of memory, all the others waiting for it, progress on each, eight ranks a node."""
    store = FactStore()
    for rank in range(RANKS):
        host, path = f"node{rank // PER_NODE}", f"rank_{rank}.log"
        store.add(Fact("rank.host", host, f"rank:{rank}", Source("log", path, 1, f"rank {rank} on {host}")))
        store.add(
            Fact("gpu.memory_total", 80 << 30, f"gpu:{host}/{rank % PER_NODE}", Source("dump", host, 3, "80 GiB"))
        )
        for step in range(1, 6):
            store.add_event(_event("megatron.iteration", path, rank, host, step, {"step": step, "step_time": 2.0}))
        if rank == 3:
            fields: dict[str, Value] = {
                "requested": 2 << 30,
                "total": 80 << 30,
                "free": 1 << 30,
                "reserved_unallocated": 1 << 20,
            }
            store.add_event(_event("torch.cuda_oom", path, rank, host, 6, fields))
        else:
            fields = {"seq": 812, "op": "ALLREDUCE", "numel_in": 1, "timeout": 600}
            store.add_event(_event("torch.watchdog_timeout", path, rank, host, 7, fields))
    for name, value in {"tp": 8, "pp": 4, "dp": 32, "world_size": RANKS, "num_layers": 80, "hidden_size": 8192}.items():
        store.add(Fact(f"config.{name}", value, "job", Source("config", "launch.sh", 1, name)))
    return store


def _event(name: str, path: str, rank: int, host: str, order: int, fields: Mapping[str, Value]) -> Event:
    source = Source("log", path, order, f"{name} of rank {rank}")
    return Event(name, source, fields, rank=rank, host=host, time=1000.0 + 60 * order, order=order)


if __name__ == "__main__":
    main()
