from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from doctor.facts.model import Fact, FactSpec, Scope
from doctor.session.analyze import analyze_paths
from doctor.views.coverage import not_checked
from doctor.views.present import changes, event_meaning, places, value
from tests.reports import COMMAND, healthy_report, oom_report, text


def test_the_answer_comes_first_and_then_the_proof_the_fix_and_what_next(tmp_path: Path) -> None:
    shown = text(oom_report(tmp_path))
    wanted = [
        "✗ problem",
        "✗ fatal  MEM001  More model state than fits into GPU memory",
        "rank 3 on node1",
        "Weights, gradients",
        "rank3.log:120",
        "CUDA out of memory. Tried to allocate 2.50 GiB",
        "7 ranks (0-2, 4-7): watchdog timeout, 612 s later",
        "Halve the micro-batch",
        "Raise the NCCL timeout — the others only wait",
        "MEM003 The allocator is fragmented",
        "memory snapshot: a fragmented cache",
        "not checked",
        "core.1: passed over: not text (likewise: core.2)",
    ]
    places = [shown.find(part) for part in wanted]
    assert -1 not in places, wanted[places.index(-1)] + "\n" + shown
    assert places == sorted(places), shown


def test_what_follows_is_folded_and_no_finding_of_its_own(tmp_path: Path) -> None:
    assert text(oom_report(tmp_path)).count("watchdog timeout") == 1


def test_a_command_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    lines = text(oom_report(tmp_path), width=60).splitlines()
    assert COMMAND in [line.strip() for line in lines]


def test_a_patch_shows_the_value_now_and_then(tmp_path: Path) -> None:
    shown = text(oom_report(tmp_path, "CUDA out of memory", "rank3.log", Fact("config.micro_batch", 4)))
    assert "micro_batch = 2  # 4 -> 2" in shown


def test_a_patch_of_an_unknown_setting_shows_the_rule(tmp_path: Path) -> None:
    assert "micro_batch = micro_batch // 2" in text(oom_report(tmp_path))


def test_only_the_flags_of_the_jobs_framework_are_shown(tmp_path: Path) -> None:
    shown = text(oom_report(tmp_path, "CUDA out of memory", "rank3.log", Fact("config.framework", "megatron")))
    assert "--use-distributed-optimizer" in shown
    assert "deepspeed" not in shown


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_at_60_columns_only_what_is_to_be_copied_is_wider(tmp_path: Path, lang: str) -> None:
    wide = [line for line in text(oom_report(tmp_path), lang, width=60).splitlines() if cell_len(line) > 60]
    assert [line.strip() for line in wide] == [COMMAND]


def test_a_healthy_job_is_told_what_was_checked(tmp_path: Path) -> None:
    shown = text(healthy_report(tmp_path))
    assert shown.startswith("✓ healthy")
    assert "checked" in shown and "1 log, 1.0 KiB" in shown and "3 rules" in shown


def test_what_no_rule_explains_is_shown_by_its_line(tmp_path: Path) -> None:
    report = oom_report(tmp_path)
    rules = {key: rule for key, rule in report.rulebase.rules.items() if key == "NET001"}
    from dataclasses import replace

    from doctor.engine.diagnose import diagnose

    base = replace(report.rulebase, rules=rules)
    shown = text(replace(report, rulebase=base, diagnosis=diagnose(report.store, base)))
    assert shown.startswith("? undetermined")
    assert "rank3.log:120" in shown and "CUDA out of memory" in shown


def test_everything_is_shown_when_asked(tmp_path: Path) -> None:
    shown = text(oom_report(tmp_path), verbose=True)
    assert "loss.backward()" in shown and "8 logs" in shown


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]CUDA out of memory[/red] [link=file:///x]\u202e\u200b\r\n\x00"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_hostile_log_text_reaches_the_terminal_as_letters_only(tmp_path: Path, lang: str) -> None:
    shown = text(oom_report(tmp_path, HOSTILE, "a\x1b[31m\u202e.log"), lang, verbose=True)
    assert not set(shown) & set("\x1b\x07\x9b\r\x00\u202e\u200b")
    assert "\\x1b]0;owned\\x07" in shown and "[red]CUDA out of memory[/red]" in shown


def test_places_are_told_briefly() -> None:
    assert places(["rank:0", "rank:1", "rank:2", "rank:5"], "en") == "ranks 0-2, 5"
    assert places(["gpu:?/3"], "en") == "GPU 3"
    assert places(["node:?"], "en") == "node (name not given)"
    assert places([f"node:n{n}" for n in range(9)], "en") == "nodes n0, n1, n2, n3, n4, n5 (+3)"
    assert places([], "zh") == "整个作业"


@pytest.mark.parametrize(("lang", "told"), [("en", "a Python exception with its traceback"), ("zh", "Python 异常")])
def test_a_traceback_that_follows_is_told_in_words(tmp_path: Path, lang: str, told: str) -> None:
    assert event_meaning(oom_report(tmp_path), "python.traceback", lang).startswith(told)


def test_not_checked_names_only_what_can_be_handed_over(tmp_path: Path) -> None:
    report = oom_report(tmp_path)
    missing = ("config.tp", "env.NCCL_DEBUG", "mem.grows", "live.watching", "reserved")
    catalogue = {
        **report.rulebase.catalogue,
        "env.*": FactSpec("env.*", "str", "1", Scope.JOB, "environment", ("job_config",)),
        "mem.grows": FactSpec("mem.grows", "bool", "1", Scope.JOB, "memory grows", ("derived",)),
        "live.watching": FactSpec("live.watching", "bool", "1", Scope.JOB, "logs are followed", ("attach",)),
    }
    asked = replace(
        report,
        rulebase=replace(report.rulebase, catalogue=catalogue),
        diagnosis=replace(report.diagnosis, missing=missing),
    )
    [(what, why)] = not_checked(asked, "en")
    assert what.startswith("the job's configuration")
    assert why == "nothing handed over tells config.tp, env.NCCL_DEBUG"


def test_facts_are_written_as_answers_take_them() -> None:
    assert [value(known) for known in (True, ("a", "b"), 2.5)] == ["true", "[a, b]", "2.5"]


def test_a_size_that_need_not_change_is_not_named_as_a_change(tmp_path: Path) -> None:
    sizes = "--tensor-model-parallel-size 3 --num-attention-heads 32 --hidden-size 4096 --num-layers 32"
    (tmp_path / "train.sh").write_text(f"torchrun --nproc_per_node 8 pretrain_gpt.py {sizes}\n")
    report = analyze_paths([tmp_path])
    rule = next(f.rule for f in report.diagnosis.findings if f.rule.id == "CFG014")
    remedy = next(remedy for remedy in rule.remedies if "patch" in remedy.change)
    assert ("config", "tp = 2  # 3 -> 2") in changes(rule, remedy, report)
