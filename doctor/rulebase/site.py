"""The folder of rule pages: every page, the indexes, and a page that searches them without a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from doctor.rulebase.indexes import cause_index, rule_index, symptom_index
from doctor.rulebase.model import RuleBase
from doctor.rulebase.pages import page
from doctor.rulebase.search import WEIGHTS, parts_of

HEADINGS: Mapping[str, tuple[str, str]] = {
    "en": ("Rules", "a line of a log, or words"),
    "zh": ("规则", "日志中的一行，或关键词"),
}

HTML = """<!doctype html>
<html lang="{lang}"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>body{{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}}
input{{width:100%;font:inherit}}</style>
<h1>{title}</h1>
<p><a href="index.md">index.md</a> · <a href="symptoms.md">symptoms.md</a> · <a href="causes.md">causes.md</a></p>
<input id="q" autofocus placeholder="{hint}" aria-label="{hint}"><ol id="found"></ol>
<script type="application/json" id="data">{data}</script>
<script>
const {{rules, weights}} = JSON.parse(document.getElementById("data").textContent);
const box = document.getElementById("q"), list = document.getElementById("found");
const word = /[a-z_][a-z0-9_.-]*[a-z0-9_]|[\\u3400-\\u9fff]{{2}}/g;
function search() {{
  const words = [...new Set(box.value.toLowerCase().match(word) || [])];
  const asked = words.map(word => [word, rules.filter(rule => rule.parts.some(part => part.includes(word))).length]);
  const scored = rules.map(rule => [rule, asked.reduce((sum, [word, n]) => sum + (n && Math.log(1 + rules.length / n)) *
    Math.max(0, ...rule.parts.map((part, i) => part.includes(word) ? weights[i] : 0)), 0)]);
  const found = asked.length ? scored.filter(([, score]) => score > 0).sort((a, b) => b[1] - a[1]) : scored;
  list.replaceChildren(...found.slice(0, asked.length ? 20 : rules.length).map(([rule]) => {{
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = rule.id + ".md";
    link.textContent = rule.id + " " + rule.title;
    item.append(link);
    return item;
  }}));
}}
box.addEventListener("input", search);
search();
</script></html>
"""


def files(base: RuleBase, lang: str = "en") -> Iterator[tuple[str, str]]:
    """Name and text of every file of the folder, in `lang` (en or zh)."""
    for rule in base.rules.values():
        yield f"{rule.id}.md", page(rule, base, lang)
    yield "index.md", rule_index(base, lang)
    yield "symptoms.md", symptom_index(base, lang)
    yield "causes.md", cause_index(base, lang)
    yield "index.html", search_page(base, lang)


def search_page(base: RuleBase, lang: str = "en") -> str:
    """A page with the texts of all rules in it, so that it can search them as a file, without a network."""
    title, hint = HEADINGS[lang]
    rules = [
        {"id": rule.id, "title": rule.title.get(lang), "parts": list(parts_of(rule, base).values())}
        for rule in sorted(base.rules.values(), key=lambda rule: rule.id)
    ]
    data = json.dumps({"rules": rules, "weights": list(WEIGHTS.values())}, ensure_ascii=False)
    # `</script>` in a text would end the element, whatever the JSON says.
    return HTML.format(lang=lang, title=title, hint=hint, data=data.replace("<", "\\u003c"))
