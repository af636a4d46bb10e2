"""A page for each rule, in Markdown: what `pdoctor rules show` prints and docs/rules holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
}


def page(rule: Rule, base: RuleBase, lang: str = "en") -> str:
    """The page of `rule` as Markdown in `lang` (en or zh)."""
    return "\n".join(_lines(rule, base, lang)).rstrip() + "\n"


def _lines(rule: Rule, base: RuleBase, lang: str) -> Iterator[str]:
    def word(key: str) -> str:
        return WORDS[key][1 if lang == "zh" else 0]

    yield f"# {rule.id} {rule.title.get(lang)}"
    yield ""
    yield f"{word('cause')}: `{rule.cause}` · {word('severity')}: {rule.severity} · {rule.status}"
    yield ""
    yield rule.because.get(lang)
    yield ""
    yield f"## {word('seen')}"
    yield ""
    yield f"| {word('signal')} | {word('looks')} | {word('if_cause')} | {word('otherwise')} |"
    yield "| --- | --- | --- | --- |"
    for signal in rule.signals.values():
        yield f"| {signal.name} | {_cell(_looks_for(signal))} | {_word(signal.if_cause)} | {_word(signal.otherwise)} |"
    yield ""
    yield f"{word('condition')}: {_condition(rule)}"
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
                yield from _remedy(remedy, lang, word("risk"), word("restart"))
    yield ""
    yield f"## {word('references')}"
    yield ""
    for reference in rule.references:
        yield f"- [{reference.title}]({reference.url})"


def _remedy(remedy: Remedy, lang: str, risk: str, restart: str) -> Iterator[str]:
    yield ""
    yield f"### {remedy.title.get(lang)}"
    if remedy.why:
        yield ""
        yield remedy.why.get(lang)
    if remedy.avoid:
        return
    yield ""
    yield f"{risk}: {remedy.risk} · {restart}: {remedy.restart}"
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


def _looks_for(signal: Signal) -> str:
    if signal.when:
        return f"`{signal.when}`"
    text = " / ".join(f"`{event}`" for event in signal.events)
    if signal.where:
        text += f" where `{signal.where}`"
    for name in ("position", "before", "after"):
        if value := getattr(signal, name):
            text += f", {name} {value}"
    return text + (f", {signal.count} times" if signal.count > 1 else "")


def _condition(rule: Rule) -> str:
    parts = [f"`{name}`" for name in rule.condition.all]
    if rule.condition.any:
        parts.append("(" + " or ".join(f"`{name}`" for name in rule.condition.any) + ")")
    parts += [f"not `{name}`" for name in rule.condition.none]
    return " and ".join(parts) or "any signal is seen"


def _named(rule_id: str, base: RuleBase, lang: str) -> str:
    rule = base.rules.get(rule_id)
    return f"[{rule_id}]({rule_id}.md) {rule.title.get(lang)}" if rule else rule_id


def _meaning(event: str, base: RuleBase, lang: str) -> str:
    meaning = meaning_of(event, base.events, lang)
    return f"`{event}`" + (f": {meaning}" if meaning else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _word(probability: float) -> str:
    return next((word for word, value in LIKELIHOODS.items() if value == probability), "–")
