"""Rule pages: everything a reader needs of a rule, in both languages, with changes ready to copy."""

from pathlib import Path

from doctor.rulebase.load import read_rulebase
from doctor.rulebase.pages import change_lines, page
from tests.support import rule_text, rulebase

REMEDY = """
signals: {oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}}
condition: {all: [oom]}
remedies:
  - {id: env, title: {en: Grow segments, zh: 扩展段}, change: {env: {A: "1"}, command: [make x]}, risk: low, restart: job}
  - {id: no, avoid: true, title: {en: Batch of one, zh: 批量一}, why: {en: no help, zh: 无用}, risk: low, restart: job}
references: [{title: paper, url: "https://example.org/p"}]
"""


def test_a_page_holds_what_shows_it_what_cures_it_and_what_not_to_do(tmp_path: Path) -> None:
    base = rulebase(tmp_path, rule_text(body=REMEDY))
    text = page(base.rules["T001"], base)
    for part in (
        "# T001 title",
        "torch.cuda_oom",
        "always",
        "Grow segments",
        "export A=1",
        "Do not",
        "no help",
        "(https://",
    ):
        assert part in text
    assert "不要这样做" in page(base.rules["T001"], base, "zh")


def test_changes_are_lines_to_copy() -> None:
    lines = list(change_lines({"env": {"A": "1", "B": None}, "flags": {"megatron": "--x 1"}, "command": "reboot"}))
    assert lines == ["reboot", "export A=1", "unset B", "# megatron", "--x 1"]


def test_every_shipped_rule_has_a_page_in_both_languages() -> None:
    base = read_rulebase().base
    for rule in base.rules.values():
        assert rule.title.en in page(rule, base) and rule.title.zh in page(rule, base, "zh")
