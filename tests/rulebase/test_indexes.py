"""From a message or a cause to the pages of the rules, in both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from doctor.rulebase.indexes import cause_index, rule_index, symptom_index
from doctor.rulebase.load import read_rulebase
from doctor.rulebase.site import files
from tests.support import rule_text, rulebase

BASE = read_rulebase().base


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_message_that_a_rule_reads_leads_to_it(lang: str) -> None:
    sections = re.split(r"^### ", symptom_index(BASE, lang), flags=re.MULTILINE)
    by_event = {found[1]: section for section in sections if (found := re.search(r"^`([\w.-]+)`", section, re.M))}
    for rule in BASE.rules.values():
        for signal in rule.signals.values():
            for event in signal.events:
                assert f"[{rule.id}]({rule.id}.md) {rule.title.get(lang)}" in by_event[event]


def test_a_message_is_shown_as_it_looks_in_a_log() -> None:
    assert "out of memory. Tried to allocate <requested> GPU <device>" in symptom_index(BASE)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_rule_and_every_cause_is_listed(lang: str) -> None:
    for rule in BASE.rules.values():
        assert f"[{rule.id}]({rule.id}.md)" in rule_index(BASE, lang)
        assert f"[{rule.id}]({rule.id}.md) ({rule.severity})" in cause_index(BASE, lang)
    for cause in BASE.causes.values():
        assert f"`{cause.id}` {cause.title.get(lang)}: " in cause_index(BASE, lang)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_link_leads_to_a_file_or_a_heading(lang: str) -> None:
    folder = dict(files(BASE, lang))
    for name, text in folder.items():
        for link in re.findall(r"\]\(([\w.-]+\.(?:md|html))\)", text):
            assert link in folder, (name, link)
    headings = re.findall(r"^## (.*)$", folder["symptoms.md"], re.MULTILINE)
    assert folder["symptoms.md"].count("](#") == len(headings)


def test_the_texts_in_the_search_page_cannot_end_their_element(tmp_path: Path) -> None:
    base = rulebase(tmp_path, rule_text().replace("en: title", "en: title </script><b>"))
    text = dict(files(base))["index.html"]
    held = text.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(held)["rules"][0]["id"] == "T001"
    assert "http:" not in text and "https:" not in text
