"""Small rule bases and stores, so that a test can say what it is about in a few lines."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from doctor.facts.model import Event, EventSpec, Fact, FactSpec, Scope, Source, Symptom
from doctor.facts.store import FactStore
from doctor.rulebase.load import read_files
from doctor.rulebase.model import RuleBase

CATALOGUE = {
    spec.name: spec
    for spec in (
        FactSpec("config.tp", "int", "1", Scope.JOB, "tensor-parallel size", ("job_config",)),
        FactSpec("node.shm_total", "int", "B", Scope.NODE, "size of /dev/shm"),
        FactSpec("job.idle", "int", "1", Scope.JOB, "computed", ("derived",)),
        FactSpec("env.*", "str", "1", Scope.JOB, "environment variable"),
    )
}

OOM = EventSpec("torch.cuda_oom", ("CUDA out of memory",), {"requested": "bytes"}, Symptom.FATAL)
TIMEOUT = EventSpec("torch.watchdog_timeout", ("Watchdog caught",), {"seq": "int"}, Symptom.FATAL)
CLOSED = EventSpec("nccl.peer_closed", ("Connection closed",), {}, Symptom.FATAL, follows=True)
FAILED_CALL = EventSpec("nccl.error", ("NCCL error in",), {}, Symptom.FATAL)
STORE_GONE = EventSpec("torch.store_broken", ("should dump",), {}, follows=True)
STEP = EventSpec("megatron.iteration", ("iteration",), {"step": "int"}, phase="training")
LAUNCH = EventSpec("torch.launch", ("starting workers",), phase="launch")
EVENTS = {spec.name: spec for spec in (OOM, TIMEOUT, CLOSED, FAILED_CALL, STORE_GONE, STEP, LAUNCH)}


def rule_file(folder: Path, text: str, name: str = "oom/T001_test.yaml") -> Path:
    """Writes one rule file below `folder` and returns its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")
    return path


def rule_text(
    id: str = "T001",
    cause: str = "allocator-fragmentation",
    severity: str = "fatal",
    prior: str = "common",
    body: str = "signals:\n  oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}\ncondition: {all: [oom]}",
) -> str:
    """A complete rule around the signals and condition in `body`."""
    head = f"schema: 1\nid: {id}\nname: {id.lower()}\ncause: {cause}\nseverity: {severity}\nprior: {prior}\n"
    texts = "title: {en: title, zh: 标题}\nbecause: {en: because, zh: 因为}\n"
    return head + texts + dedent(body) + "\n"


def rulebase(folder: Path, *texts: str) -> RuleBase:
    """The rule base of the rules in `texts`, over the events and facts above."""
    files = []
    for index, text in enumerate(texts):
        path = rule_file(folder, text, f"oom/R{index}.yaml")
        files.append((path, f"rules/oom/{path.name}"))
    base = read_files(files, CATALOGUE, EVENTS)
    assert not base.problems, base.problems
    return base.base


def event(name: str, order: int = 1, rank: int | None = None, path: str = "job.log", **fields: object) -> Event:
    """One occurrence; `time` in `fields` is its clock time, the rest are captures."""
    time = fields.pop("time", None)
    host = fields.pop("host", None)
    return Event(
        name,
        Source("log", path, order, f"{name} line {order}"),
        fields,  # type: ignore[arg-type]
        rank=rank,
        host=host if isinstance(host, str) else None,
        time=float(time) if isinstance(time, int | float) else None,
        order=order,
    )


def store(*known: Fact | Event) -> FactStore:
    facts = [item for item in known if isinstance(item, Fact)]
    return FactStore(facts, [item for item in known if isinstance(item, Event)])
