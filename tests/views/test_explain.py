from __future__ import annotations

import io
from pathlib import Path

import pytest

from doctor.views.explain import UnknownNameError, print_explanation
from tests.reports import oom_report


def explained(folder: Path, name: str, lang: str = "en") -> str:
    out = io.StringIO()
    print_explanation(oom_report(folder), name, out, lang)
    return out.getvalue()


def test_how_shows_the_signals_with_weights_and_sources(tmp_path: Path) -> None:
    shown = explained(tmp_path, "MEM001")
    assert "MEM001 More model state" in shown and "holds" in shown and "it is a root cause" in shown
    assert "✓ holds  oom: torch.cuda_oom  (weight +4.6)" in shown
    assert "rank3.log:120" in shown
    assert "? not known  wide: config.tp > 2" in shown and "not known: config.tp" in shown


def test_why_not_names_the_signal_that_decided_it(tmp_path: Path) -> None:
    shown = explained(tmp_path, "link-down")
    assert "NET001 A link is down: not considered" in shown
    assert "why not: down does not hold" in shown


def test_a_cause_is_explained_by_its_rules(tmp_path: Path) -> None:
    assert explained(tmp_path, "allocator-fragmentation").startswith("MEM003")


def test_a_misspelt_name_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean allocator-fragmentation"):
        explained(tmp_path, "alocator-fragmentation")


def test_in_chinese(tmp_path: Path) -> None:
    assert "不成立" in explained(tmp_path, "NET001", "zh")


def test_what_else_it_could_be_is_told_as_such(tmp_path: Path) -> None:
    assert "it could be the cause instead of MEM001" in explained(tmp_path, "MEM003")
