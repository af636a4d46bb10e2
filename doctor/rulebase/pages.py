"""A page for each rule, in Markdown: what `pdoctor rules show` prints and docs/rules holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doctor.rulebase.model import LIKELIHOODS, Remedy, Rule, RuleBase, Signal
from doctor.rulebase.names import meaning_of

WORDS: Mapping[str, tuple[str, str]] = {
    "cause": ("Cause", "原因"),
    "severity": ("Severity", "严重程度"),
    "seen": ("What shows it", "判断依据"),
    "signal": ("signal", "信号"),
    "looks": ("looks for", "检查内容"),
    "if_cause": ("with this cause", "有此原因时"),
    "otherwise": ("otherwise", "无此原因时"),
    "condition": ("Holds when", "成立条件"),
    "explains": ("What follows from it", "由此引起的现象"),
    "apart": ("Could also be", "易混淆的原因"),
    "fix": ("What to do", "处理方法"),
    "avoid": ("Do not", "不要这样做"),
    "risk": ("risk", "风险"),
    "restart": ("restart", "需重启"),
    "references": ("References", "参考资料"),
    "fatal": ("fatal", "致命"),
    "degraded": ("degraded", "性能受损"),
    "info": ("info", "提示"),
    "stable": ("stable", "稳定"),
    "preview": ("preview", "预览"),
    "deprecated": ("deprecated", "已弃用"),
    "always": ("always", "几乎总是"),
    "usually": ("usually", "通常"),
    "often": ("often", "常常"),
    "sometimes": ("sometimes", "有时"),
    "rarely": ("rarely", "很少"),
    "never": ("never", "几乎从不"),
    "low": ("low", "低"),
    "medium": ("medium", "中"),
    "high": ("high", "高"),
    "none": ("none", "无"),
    "job": ("job", "作业"),
    "node": ("node", "节点"),
    "where": (" where ", "，满足 "),
    "position": ("position", "位置"),
    "before": ("before", "早于"),
    "after": ("after", "晚于"),
    "times": (", {n} times", "，{n} 次"),
    "and": (" and ", " 且 "),
    "or": (" or ", " 或 "),
    "not": ("not ", "非 "),
    "any": ("any signal is seen", "出现任一信号"),
}

Word = Callable[[str], str]
"""A word of WORDS in the language of the page."""


def page(rule: Rule, base: RuleBase, lang: str = "en") -> str:
    """The page of `rule` as Markdown in `lang` (en or zh)."""
    return "\n".join(_lines(rule, base, lang)).rstrip() + "\n"


def _lines(rule: Rule, base: RuleBase, lang: str) -> Iterator[str]:
    def word(key: str) -> str:
        return WORDS[key][1 if lang == "zh" else 0]

    yield f"# {rule.id} {rule.title.get(lang)}"
    yield ""
    yield f"{word('cause')}: `{rule.cause}` · {word('severity')}: {word(rule.severity)} · {word(rule.status)}"
    yield ""
    yield rule.because.get(lang)
    yield ""
    yield f"## {word('seen')}"
    yield ""
    yield f"| {word('signal')} | {word('looks')} | {word('if_cause')} | {word('otherwise')} |"
    yield "| --- | --- | --- | --- |"
    for signal in rule.signals.values():
        cells = (signal.name, _cell(_looks_for(signal, word)))
        yield f"| {' | '.join(cells)} | {_likelihood(signal.if_cause, word)} | {_likelihood(signal.otherwise, word)} |"
    yield ""
    yield f"{word('condition')}: {_condition(rule, word)}"
    if rule.explains:
        yield ""
        yield f"## {word('explains')}"
        yield ""
        for consequence in rule.explains:
            named = (
                _named(consequence.rule, base, lang) if consequence.rule else _meaning(consequence.event, base, lang)
            )
            yield f"- {named}"
    if rule.differential:
        yield ""
        yield f"## {word('apart')}"
        yield ""
        for other in rule.differential:
            step = f" (`{other.next}`)" if other.next else ""
            yield f"- {_named(other.rule, base, lang)}: {other.how.get(lang)}{step}"
    for avoid, heading in ((False, "fix"), (True, "avoid")):
        remedies = [remedy for remedy in rule.remedies if remedy.avoid is avoid]
        if remedies:
            yield ""
            yield f"## {word(heading)}"
            for remedy in remedies:
                yield from _remedy(remedy, lang, word)
    yield ""
    yield f"## {word('references')}"
    yield ""
    for reference in rule.references:
        yield f"- [{reference.title}]({reference.url})"


def _remedy(remedy: Remedy, lang: str, word: Word) -> Iterator[str]:
    yield ""
    yield f"### {remedy.title.get(lang)}"
    if remedy.why:
        yield ""
        yield remedy.why.get(lang)
    if remedy.avoid:
        return
    yield ""
    yield f"{word('risk')}: {word(remedy.risk)} · {word('restart')}: {word(remedy.restart)}"
    changes = list(change_lines(remedy.change))
    if changes:
        yield ""
        yield "```"
        yield from changes
        yield "```"


def change_lines(change: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a change as they are to be copied: commands, exports, flags a framework, code."""
    yield from _as_list(change.get("command"))
    for name, value in dict(change.get("env") or {}).items():
        yield f"unset {name}" if value is None else f"export {name}={value}"
    for framework, text in dict(change.get("flags") or {}).items():
        yield f"# {framework}"
        yield from str(text).strip().splitlines()
    for name, value in dict(change.get("patch") or {}).items():
        yield f"{name} = {value}"
    for code in _as_list(change.get("code")):
        yield from code.strip().splitlines()


def _as_list(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]


def _looks_for(signal: Signal, word: Word) -> str:
    if signal.when:
        return f"`{signal.when}`"
    text = " / ".join(f"`{event}`" for event in signal.events)
    if signal.where:
        text += f"{word('where')}`{signal.where}`"
    for name in ("position", "before", "after"):
        if value := getattr(signal, name):
            text += f", {word(name)} {value}"
    return text + (word("times").format(n=signal.count) if signal.count > 1 else "")


def _condition(rule: Rule, word: Word) -> str:
    parts = [f"`{name}`" for name in rule.condition.all]
    if rule.condition.any:
        parts.append("(" + word("or").join(f"`{name}`" for name in rule.condition.any) + ")")
    parts += [f"{word('not')}`{name}`" for name in rule.condition.none]
    return word("and").join(parts) or word("any")


def _named(rule_id: str, base: RuleBase, lang: str) -> str:
    rule = base.rules.get(rule_id)
    return f"[{rule_id}]({rule_id}.md) {rule.title.get(lang)}" if rule else rule_id


def _meaning(event: str, base: RuleBase, lang: str) -> str:
    meaning = meaning_of(event, base.events, lang)
    return f"`{event}`" + (f": {meaning}" if meaning else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _likelihood(probability: float, word: Word) -> str:
    return next((word(name) for name, value in LIKELIHOODS.items() if value == probability), "–")
