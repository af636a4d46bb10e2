"""Ways into the pages of the rules: by id, by the message that was seen, by cause. In Markdown, with links."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from doctor.facts.model import EventSpec, Symptom
from doctor.rulebase.model import Rule, RuleBase
from doctor.rulebase.names import meaning_of
from doctor.rulebase.sample import sample

WORDS: Mapping[str, tuple[str, str]] = {
    "rules": ("Rules", "规则"),
    "symptoms": ("By message: I see this line", "按日志信息查找：我看到了这一行"),
    "causes": ("By cause", "按原因查找"),
    "title": ("title", "标题"),
    "cause": ("cause", "原因"),
    "severity": ("severity", "严重程度"),
    "fatal": ("a failure", "故障"),
    "degraded": ("a slowdown or risk", "变慢或风险"),
    "none": ("ordinary", "普通信息"),
    "phase": ("begins the phase", "标志阶段开始："),
    "no_rule": ("no rule yet", "尚无规则"),
    "search": ("Search", "搜索"),
}
PROGRAMS: Mapping[str, tuple[str, str]] = {
    "torch": ("PyTorch and torchrun", "PyTorch 与 torchrun"),
    "nccl": ("NCCL and its plugins", "NCCL 及其插件"),
    "cuda": ("CUDA", "CUDA"),
    "kernel": ("Linux kernel and GPU driver", "Linux 内核与 GPU 驱动"),
    "system": ("Operating system and nodes", "操作系统与节点"),
    "python": ("Python", "Python"),
    "hf": ("Hugging Face", "Hugging Face"),
    "moe": ("Mixture of experts", "混合专家（MoE）"),
    "progress": ("Progress of the training", "训练进度"),
    "gloo": ("Gloo", "Gloo"),
    "mpi": ("MPI", "MPI"),
    "gpu": ("GPUs", "GPU"),
    "other": ("Other programs", "其他程序"),
}
"""Headings for the part of an event's name before the dot; any other part is its own heading."""

OTHER, FEW = "other", 3
"""Programs with fewer messages share a heading."""

SAMPLES = 4
"""Forms of one message that are shown; further ones differ in details."""


def rule_index(base: RuleBase, lang: str = "en") -> str:
    """A table of all rules, and links to the other indexes."""
    say = _words(lang)
    lines = [f"# {say('rules')}", ""]
    lines += [f"- [{say(name)}]({name}.md)" for name in ("symptoms", "causes")]
    lines += [
        f"- [{say('search')}](index.html)",
        "",
        f"| id | {say('cause')} | {say('title')} |",
        "| --- | --- | --- |",
    ]
    for rule in _sorted(base):
        lines.append(f"| [{rule.id}]({rule.id}.md) | {rule.cause} | {_cell(rule.title.get(lang))} |")
    return "\n".join(lines) + "\n"


def symptom_index(base: RuleBase, lang: str = "en") -> str:
    """Every message that a rule reads, as it looks in a log, with these rules; by program, failures first."""
    say = _words(lang)
    groups: dict[str, list[str]] = defaultdict(list)
    readers = readers_of(base)
    sizes = Counter(event.partition(".")[0] for event in readers)
    for event in readers:
        program = event.partition(".")[0]
        groups[program if program in PROGRAMS or sizes[program] >= FEW else OTHER].append(event)
    lines = [f"# {say('symptoms')}", "", *_contents(groups, lang)]
    for program in _ordered(groups, lang):
        lines += ["", f"## {_program(program, lang)}"]
        for event in sorted(groups[program], key=lambda name: (_grade(base.events.get(name)), name)):
            lines += ["", *_message(event, readers[event], base, lang)]
    return "\n".join(lines) + "\n"


def cause_index(base: RuleBase, lang: str = "en") -> str:
    """Every cause of the published list by area, with the rules that find it."""
    say = _words(lang)
    rules: dict[str, list[Rule]] = defaultdict(list)
    for rule in _sorted(base):
        rules[rule.cause].append(rule)
    areas: dict[str, list[str]] = defaultdict(list)
    for cause in base.causes.values():
        found = ", ".join(f"[{rule.id}]({rule.id}.md) ({rule.severity})" for rule in rules[cause.id])
        areas[cause.area].append(f"- `{cause.id}` {cause.title.get(lang)}: {found or say('no_rule')}")
    lines = [f"# {say('causes')}"]
    for area in sorted(areas):
        lines += ["", f"## {area}", "", *areas[area]]
    return "\n".join(lines) + "\n"


def readers_of(base: RuleBase) -> dict[str, list[str]]:
    """The rules with a signal that is an event, by event; both sorted."""
    readers: dict[str, set[str]] = defaultdict(set)
    for rule in base.rules.values():
        for signal in rule.signals.values():
            for event in signal.events:
                readers[event].add(rule.id)
    return {event: sorted(readers[event]) for event in sorted(readers)}


def _message(event: str, readers: list[str], base: RuleBase, lang: str) -> Iterator[str]:
    spec, say = base.events.get(event), _words(lang)
    notes = [say(spec.symptom.value)] if spec and spec.symptom is not Symptom.NONE else []
    notes += [f"{say('phase')} {spec.phase}"] if spec and spec.phase else []
    yield f"### {meaning_of(event, base.events, lang) or event}"
    yield ""
    yield " · ".join([f"`{event}`", *notes])
    yield ""
    if spec:
        yield "```"
        yield from list(dict.fromkeys(filter(None, map(sample, spec.patterns))))[:SAMPLES]
        yield "```"
        yield ""
    for rule_id in readers:
        yield f"- [{rule_id}]({rule_id}.md) {base.rules[rule_id].title.get(lang)}"


def _contents(groups: Mapping[str, list[str]], lang: str) -> Iterator[str]:
    for program in _ordered(groups, lang):
        heading = _program(program, lang)
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        yield f"- [{heading}](#{anchor}): {len(groups[program])}"


def _ordered(groups: Mapping[str, list[str]], lang: str) -> list[str]:
    return sorted(groups, key=lambda name: (name == OTHER, name not in PROGRAMS, _program(name, lang).lower()))


def _program(name: str, lang: str) -> str:
    return PROGRAMS[name][lang == "zh"] if name in PROGRAMS else name


def _grade(spec: EventSpec | None) -> int:
    order = (Symptom.FATAL, Symptom.DEGRADED, Symptom.NONE)
    return order.index(spec.symptom) if spec else 0


def _sorted(base: RuleBase) -> list[Rule]:
    return sorted(base.rules.values(), key=lambda rule: rule.id)


def _words(lang: str) -> Callable[[str], str]:
    return lambda key: WORDS[key][lang == "zh"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
