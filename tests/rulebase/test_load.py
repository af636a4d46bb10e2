"""Reading rule files: mistakes have a place, the rest is loaded, and the pack is the same as the files."""

from pathlib import Path

import pytest

from doctor.rulebase import pack
from doctor.rulebase.load import load_rulebase, read_files
from doctor.rulebase.model import RuleBase
from tests.support import CATALOGUE, EVENTS, rule_file, rule_text


def problems(folder: Path, text: str) -> list[str]:
    path = rule_file(folder, text)
    return [str(problem) for problem in read_files([(path, "rules/oom/T001.yaml")], CATALOGUE, EVENTS).problems]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("severity: fatal", "severity: fatl", "rules/oom/T001.yaml:5:11: severity is 'fatl', did you mean fatal?"),
        ("prior: common", "prior: 0.1", "prior must be a text, it is"),
        ("torch.cuda_oom", "torch.cuda_om", "unknown event torch.cuda_om, did you mean torch.cuda_oom?"),
        ("condition: {all: [oom]}", "condition: {all: [om]}", "condition names 'om', which is no signal"),
        ("prior: common", "prior: common\nprio: x", "unknown key prio, did you mean prior?"),
        ("signals:", "signals: [", "not valid YAML"),
        ("schema: 1", "schema: 7", "schema 7 is not known"),
        (
            "prior: common",
            "prior: common\nexplains: [{event: nccl.peer_closed, same: [rank, node]}]",
            "same is ['rank', 'node']; allowed are job, node, rank",
        ),
    ],
)
def test_a_mistake_names_its_place_and_what_would_be_right(tmp_path: Path, old: str, new: str, told: str) -> None:
    (problem,) = problems(tmp_path, rule_text().replace(old, new))
    assert told in problem
    assert problem.startswith("rules/oom/T001.yaml:")


def test_a_wrong_condition_has_line_and_column(tmp_path: Path) -> None:
    text = rule_text(body="signals:\n  wide:\n    when: config.tpp > 8\ncondition: {all: [wide]}")
    (problem,) = problems(tmp_path, text)
    line = text.splitlines().index("    when: config.tpp > 8") + 1
    assert problem == f"rules/oom/T001.yaml:{line}:11: unknown fact config.tpp, did you mean config.tp?"


def test_one_bad_file_does_not_take_the_good_ones_with_it(tmp_path: Path) -> None:
    good = rule_file(tmp_path, rule_text("T002"), "oom/good.yaml")
    bad = rule_file(tmp_path, "id: [", "oom/bad.yaml")
    loaded = read_files([(bad, "rules/oom/bad.yaml"), (good, "rules/oom/good.yaml")], CATALOGUE, EVENTS)
    assert list(loaded.base.rules) == ["T002"]
    assert len(loaded.problems) == 1


def test_an_id_is_used_once(tmp_path: Path) -> None:
    files = [(rule_file(tmp_path, rule_text(), f"oom/{name}.yaml"), f"rules/oom/{name}.yaml") for name in "ab"]
    (problem,) = read_files(files, CATALOGUE, EVENTS).problems
    assert "rule T001 exists already: rules/oom/a.yaml" in str(problem)


def test_the_pack_holds_what_the_files_hold(tmp_path: Path) -> None:
    first, second = load_rulebase(cache=tmp_path), load_rulebase(cache=tmp_path)
    assert len(list(tmp_path.glob("*.msgpack"))) == 1
    assert first.base == second.base
    assert second.base.rules


def test_a_damaged_pack_is_made_anew(tmp_path: Path) -> None:
    first = load_rulebase(cache=tmp_path)
    next(tmp_path.glob("*.msgpack")).write_bytes(b"\xc1garbage")
    assert load_rulebase(cache=tmp_path).base == first.base


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert load_rulebase(cache=blocked / "below").base.rules


def test_only_the_newest_packs_are_kept(tmp_path: Path) -> None:
    for number in range(9):
        pack.save(tmp_path / f"rules-{number}.msgpack", RuleBase({}, {}, {}), ())
    assert len(list(tmp_path.iterdir())) == pack.KEPT
    assert (tmp_path / "rules-8.msgpack").exists()


def test_a_chinese_text_keeps_no_blank_where_its_lines_were_joined(tmp_path: Path) -> None:
    wrapped = "第一行，\\n第二行： 16 个 rank\\n与 GPU。"
    path = rule_file(tmp_path, rule_text().replace("zh: 因为", f'zh: "{wrapped}"'))
    (rule,) = read_files([(path, "rules/oom/T001.yaml")], CATALOGUE, EVENTS).base.rules.values()
    assert rule.because.zh == "第一行，第二行：16 个 rank 与 GPU。"
