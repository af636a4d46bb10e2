"""What to do next can be done: recordings are asked for, numbers of theirs are not asked of a person."""

from __future__ import annotations

import io
from pathlib import Path

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import analyze_paths
from doctor.views import present
from doctor.views.text import print_report

LAYERS = "step,layer,expert,tokens\n" + "".join(
    f"0,{layer},{expert},{4000 if expert == 0 else 1000}\n" for layer in range(4) for expert in range(16)
)


def shown(path: Path) -> str:
    out = io.StringIO()
    print_report(analyze_paths([path]), out, "en", color=False)
    return out.getvalue()


def test_what_a_recording_that_is_there_does_not_tell_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "experts.csv").write_text(LAYERS)
    report = analyze_paths([tmp_path])
    asked = [fact for step in report.diagnosis.next_steps for fact in step.facts]
    assert any(fact.startswith("experts.") for fact in asked)
    assert not any(step.facts and step.facts[0].startswith("experts.") for step in present.next_steps(report))
    assert "find out experts." not in shown(tmp_path)


def test_the_headline_counts_recordings(tmp_path: Path) -> None:
    (tmp_path / "experts.csv").write_text(LAYERS)
    assert "1 root cause, 1 recording read" in shown(tmp_path).splitlines()[0]


def test_every_step_that_a_rule_names_has_a_name_in_both_languages() -> None:
    named = {difference.next for rule in load_rulebase().base.rules.values() for difference in rule.differential}
    for step in (step for step in named if step and " " not in step):
        for lang in ("en", "zh"):
            assert "_" not in present.step_name(step, lang)
        assert not present.step_name(step, "zh").isascii()
    assert present.step_name("command: ib_write_bw -x 3", "zh").strip() == "ib_write_bw -x 3"
