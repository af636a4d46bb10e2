"""Beliefs as Markdown: what `pdoctor rules beliefs` prints, and the page beliefs.md beside those of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from doctor.rulebase.belief import BASES, VERDICTS, Belief, Beliefs, Example, Formula

WORDS: Mapping[str, tuple[str, str]] = {
    "title": ("What people believe, and what is true", "常见说法与事实"),
    "intro": (
        "Every number below is recomputed from its formula whenever the rules are checked.",
        "下列每个数字在检查规则时都会按公式重新计算。",
    ),
    "belief": ("belief", "说法"),
    "verdict": ("verdict", "结论"),
    "symbols": ("Symbols", "符号"),
    "unit": ("unit", "单位"),
    "meaning": ("meaning", "含义"),
    "sources": ("Sources", "来源"),
    "rules": ("Rules", "相关规则"),
}


def beliefs_page(beliefs: Beliefs, lang: str = "en") -> str:
    """The whole page: a table of all beliefs, each with its proof, and the symbols of the formulas."""
    lines = [f"# {_word('title', lang)}", "", _word("intro", lang), ""]
    lines += [f"| {_word('belief', lang)} | {_word('verdict', lang)} |", "| --- | --- |"]
    for belief in beliefs.all.values():
        lines.append(f"| [{_cell(belief.belief.get(lang))}](#{belief.id}) | {VERDICTS[belief.verdict].get(lang)} |")
    for belief in beliefs.all.values():
        lines += ["", *_section(belief, lang, link=True)]
    lines += ["", f"## {_word('symbols', lang)}", "", *_symbols(beliefs, list(beliefs.symbols), lang)]
    return "\n".join(lines) + "\n"


def belief_text(belief: Belief, beliefs: Beliefs, lang: str = "en") -> str:
    """One belief with its proof, and the symbols that its formulas use."""
    used = {name for formula in belief.formulas for example in formula.examples for name in example.inputs}
    lines = list(_section(belief, lang, link=False))
    if used:
        lines += ["", *_symbols(beliefs, [name for name in beliefs.symbols if name in used], lang)]
    return "\n".join(lines) + "\n"


def _section(belief: Belief, lang: str, link: bool) -> Iterator[str]:
    yield f"## {belief.id}"
    yield ""
    yield f"> {belief.belief.get(lang)}"
    yield ""
    stop = "。" if lang == "zh" else "."
    verdict = VERDICTS[belief.verdict].get(lang)
    yield f"**{verdict[:1].upper()}{verdict[1:]}{stop}** {belief.truth.get(lang)}"
    for formula in belief.formulas:
        yield ""
        yield f"- {formula.what.get(lang)}: `{formula.expression}`"
        for example in formula.examples:
            yield f"  - {_worked(example, formula)}"
    yield ""
    yield f"{_word('sources', lang)}:"
    yield ""
    for source in belief.sources:
        yield f"- [{source.title}]({source.url}) ({BASES[source.basis].get(lang)})"
    if belief.rules:
        yield ""
        names = (f"[{rule}]({rule}.md)" if link else rule for rule in belief.rules)
        yield f"{_word('rules', lang)}: {', '.join(names)}"


def _worked(example: Example, formula: Formula) -> str:
    inputs = ", ".join(f"{name} = {_number(value)}" for name, value in example.inputs.items())
    unit = {"1": "", "%": " %", "x": "×"}.get(formula.unit, f" {formula.unit}")
    return f"{inputs}: **{_number(example.gives)}{unit}**" if inputs else f"**{_number(example.gives)}{unit}**"


def _symbols(beliefs: Beliefs, names: list[str], lang: str) -> Iterator[str]:
    yield f"| | {_word('meaning', lang)} | {_word('unit', lang)} |"
    yield "| --- | --- | --- |"
    for name in names:
        symbol = beliefs.symbols[name]
        yield f"| `{name}` | {_cell(symbol.meaning.get(lang))} | {symbol.unit} |"


def _number(value: float) -> str:
    """A number as people write it: from a million on in thousands of thousands, such as 70e9."""
    for power in (12, 9, 6):
        if abs(value) >= 10**power:
            return f"{value / 10**power:g}e{power}"
    return str(value)


def _word(key: str, lang: str) -> str:
    return WORDS[key][1 if lang == "zh" else 0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
