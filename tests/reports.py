"""A report on eight ranks of which one ran out of memory, made by the real engine from a rule base of two rules."""

from __future__ import annotations

import io
from pathlib import Path

from doctor.engine.diagnose import diagnose
from doctor.facts.model import Event, Fact, Source
from doctor.facts.store import FactStore
from doctor.rulebase.load import read_files
from doctor.rulebase.model import RuleBase
from doctor.session.notes import Note
from doctor.session.patches import patched
from doctor.session.report import Input, Report

OOM_LINE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.11 GiB "
    "of which 1.20 GiB is free. Of the allocated memory 59.91 GiB is allocated by PyTorch, and 17.2 GiB is reserved"
)
COMMAND = "torchrun --nproc-per-node 8 pretrain.py " + " ".join(f"--option-{n} {n}" for n in range(20))

RULE = """
schema: 1
id: MEM001
name: model-states-exceed-capacity
cause: model-states-exceed-capacity
title: {en: "More model state than fits into GPU memory", zh: "模型状态超出显存容量"}
severity: fatal
prior: common
signals:
  oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: never}}
  wide: {when: "config.tp > 2", seen: {if_cause: usually, otherwise: rarely}}
condition: {all: [oom]}
because:
  en: Weights, gradients and optimizer state of one rank need more memory than the device has.
  zh: 单个进程的权重、梯度和优化器状态超过了设备显存。
differential:
  - rule: MEM003
    next: probe:memory_snapshot
    how: {en: a fragmented cache has much unused memory, zh: 碎片化时有大量未使用的显存}
explains: [{event: torch.watchdog_timeout}]
remedies:
  - id: smaller
    title: {en: Halve the micro-batch, zh: 减半微批次}
    change: {patch: {micro_batch: "config.micro_batch // 2"}}
    risk: low
    restart: job
  - id: flags
    title: {en: Shard the optimizer, zh: 切分优化器状态}
    change: {flags: {megatron: --use-distributed-optimizer, deepspeed: '{"zero_optimization": {"stage": 2}}'}}
    risk: low
    restart: job
  - id: command
    title: {en: Start it again, zh: 重新启动}
    change: {command: ["COMMAND"]}
    risk: low
    restart: job
  - id: timeout
    avoid: true
    title: {en: Raise the NCCL timeout, zh: 调大通信超时}
    why: {en: the others only wait for the rank that died, zh: 其他进程只是在等待已退出的进程}
    risk: low
    restart: job
""".replace("COMMAND", COMMAND)

RIVAL = """
schema: 1
id: MEM003
name: allocator-fragmentation
cause: allocator-fragmentation
title: {en: The allocator is fragmented, zh: 分配器碎片化}
severity: fatal
prior: uncommon
signals:
  oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: never}}
  cached: {when: "config.tp > 4", seen: {if_cause: usually, otherwise: rarely}}
condition: {all: [oom]}
because: {en: Segments were split and could not be merged., zh: 显存段被切碎，无法合并。}
remedies:
  - id: expandable
    title: {en: Let segments grow, zh: 让显存段可增长}
    change: {env: {PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True"}}
    risk: low
    restart: job
"""

OTHER = """
schema: 1
id: NET001
name: link-down
cause: link-down
title: {en: A link is down, zh: 链路中断}
severity: fatal
prior: rare
signals:
  down:
    {event: torch.watchdog_timeout, where: "contains(text, 'link down')", seen: {if_cause: always, otherwise: never}}
condition: {all: [down]}
because: {en: The link went down., zh: 链路断开。}
remedies: []
"""

EVENTS = """
torch.cuda_oom:
  meaning: {en: the allocator could not serve a request, zh: 分配器无法满足请求}
  patterns: ['CUDA out of memory']
  symptom: fatal
torch.watchdog_timeout:
  meaning: {en: watchdog timeout, zh: 看门狗超时}
  patterns: ['Watchdog caught collective operation timeout']
  symptom: fatal
"""

CATALOGUE = """
config.tp: {type: int, scope: job, meaning: tensor-parallel size, providers: [job_config]}
config.micro_batch: {type: int, scope: job, meaning: micro-batch size, providers: [job_config]}
config.framework: {type: str, scope: job, meaning: framework, providers: [job_config]}
"""


def rulebase(folder: Path) -> RuleBase:
    texts = {
        "rules/oom/MEM001.yaml": RULE,
        "rules/oom/MEM003.yaml": RIVAL,
        "rules/network/NET001.yaml": OTHER,
        "rules/events/all.yaml": EVENTS,
        "facts/catalogue/all.yaml": CATALOGUE,
    }
    files = []
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        files.append((path, name))
    loaded = read_files(files)
    assert not loaded.problems, loaded.problems
    return loaded.base


def oom_report(folder: Path, line: str = OOM_LINE, path: str = "rank3.log", *facts: Fact) -> Report:
    """Rank 3 of 8 fails with `line`; 612 s later the watchdogs of the other ranks do."""
    start = 1_773_000_000.0
    context = (Source("log", path, 119, "  loss.backward()"),)
    events = [Event("torch.cuda_oom", Source("log", path, 120, line), {}, 3, "node1", 3, start, 44, context=context)]
    for rank in (0, 1, 2, 4, 5, 6, 7):
        source = Source("log", f"rank{rank}.log", 9, "Watchdog caught collective operation timeout")
        events.append(Event("torch.watchdog_timeout", source, {}, rank, "node1", rank, start + 612, 44))
    base = rulebase(folder)
    store = FactStore([Fact("rank.host", "node1", "rank:3"), Fact("log.files", 8), *facts], events)
    diagnosis = diagnose(store, base)
    inputs = tuple(Input(f"rank{rank}.log", "log", 8123, rank, "node1") for rank in range(8))
    notes = (Note("input.binary", "core.1"), Note("input.binary", "core.2"))
    return Report(inputs, store, base, diagnosis, notes, patched=patched(diagnosis, store, base))


def healthy_report(folder: Path) -> Report:
    base = rulebase(folder)
    store = FactStore([Fact("log.files", 1)])
    return Report((Input("job.log", "log", 1024),), store, base, diagnose(store, base))


def text(report: Report, lang: str = "en", verbose: bool = False, width: int = 100) -> str:
    """The text report as it is printed at `width` columns."""
    from doctor.views.page import Page
    from doctor.views.text import TextReport

    out = io.StringIO()
    TextReport(report, lang, verbose, Page(width)).compose().print(out)
    return out.getvalue()
