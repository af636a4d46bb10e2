"""A new rule file to fill in."""

from __future__ import annotations

import re
from pathlib import Path

from doctor.rulebase.errors import suggestion
from doctor.rulebase.load import load_rulebase, rules_folder

AREAS = {
    "MEM": "oom",
    "LCH": "launch",
    "NCC": "nccl",
    "NET": "network",
    "HNG": "hang",
    "HW": "hardware",
    "CFG": "config",
    "PRF": "perf",
    "MOE": "moe",
    "NUM": "numerics",
    "LIV": "live",
    "FRM": "framework",
}
"""The folder of a rule by the letters of its id."""

TEMPLATE = """\
schema: 1
id: {id}
name: {name}
cause: {cause}
title: {{en: "The job has ...", zh: "..."}}
status: preview                 # stable once it has a test that expects it and a near miss
since: "{version}"
severity: fatal                 # fatal | degraded | risk | info
prior: uncommon                 # rare .005 | uncommon .03 | common .10 | frequent .25
signals:                        # always .99 | usually .9 | often .7 | sometimes .4 | rarely .1 | never .01
  seen: {{event: torch.cuda_oom, seen: {{if_cause: always, otherwise: rarely}}}}
condition: {{all: [seen]}}
because:
  en: The mechanism, in two or three sentences.
  zh: 用两三句话说明机理。
remedies:
  - id: cure
    title: {{en: What to change, zh: 要做的修改}}
    change: {{env: {{NAME: value}}}}   # env | command | patch | flags | code
    risk: low                   # low | medium | high
    restart: job                # none | job | node
references:
  - {{title: Where the cause is documented, url: "https://example.org/"}}
tests:
  - name: the classic case
    log: |
      torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.
    expect: {{finding: {id}}}
  - name: a healthy job is no such case
    log: |
      iteration 10: loss 2.31
    expect: {{finding: none}}
"""


def write_rule(rule: str, name: str, cause: str, into: Path | None = None) -> Path:
    """Writes the file of a new rule and gives its path; ValueError says what is wrong with what was named."""
    from doctor import __version__

    match = re.fullmatch(r"([A-Z]+)(\d{3})", rule)
    if match is None or match[1] not in AREAS:
        areas = ", ".join(f"{prefix} ({area})" for prefix, area in AREAS.items())
        raise ValueError(f"{rule} is no rule id: one of {areas}, then three digits")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} is no rule name: small letters and digits joined by hyphens")
    folder = into or rules_folder()
    base = load_rulebase((into,) if into else ()).base
    existing = base.rules.get(rule)
    if existing is not None:
        raise ValueError(f"{rule} exists already: {existing.path}; ids are never used again")
    if cause not in base.causes:
        raise ValueError(f"no cause is called {cause}{suggestion(cause, base.causes)}; a new one goes into causes.yaml")
    path = folder / AREAS[match[1]] / f"{rule}_{name}.yaml"
    text = TEMPLATE.format(id=rule, name=name, cause=cause, version=".".join(__version__.split(".")[:2]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
