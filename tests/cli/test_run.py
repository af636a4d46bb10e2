from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.views.test_json import valid

PYTHON = os.environ.get("PDOCTOR_TEST_PYTHON") or (sys.executable if find_spec("torch") else "")


def test_the_report_lists_how_each_probe_went(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--no-input"]) in (0, 1)
    shown = capsys.readouterr().out
    assert shown.startswith("Looked at this node:") and "limits" in shown


def test_the_json_report_holds_to_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    run(["run", "--json", "--facts"])
    data = valid(capsys.readouterr().out)
    inputs, facts = data["inputs"], data["facts"]
    assert isinstance(inputs, list) and isinstance(facts, dict)
    assert {"probe limits"} <= {given["path"] for given in inputs if given["kind"] == "probe"}
    assert facts["node.shm_total"][0]["quality"] == "measured"


def test_the_log_that_is_named_is_part_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "job.log"
    log.write_text("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n")
    assert run(["run", "--log", str(log), "--json"]) == 1
    assert any(str(log) == given["path"] for given in json.loads(capsys.readouterr().out)["inputs"])


@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and it makes the ranks")
def test_collectives_are_tested_as_part_of_it_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--no-input", "--live", "--python", PYTHON]) in (0, 1)
    shown = capsys.readouterr().out
    assert "collectives" in shown and "all_to_all" in shown
    assert run(["run", "--force"]) == 2


def test_a_log_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--log", "/no/such.log"]) == 2
    assert "/no/such.log" in capsys.readouterr().err


def test_probes_are_listed_and_run_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "--json"]) == 0
    assert "limits" in {spec["name"] for spec in json.loads(capsys.readouterr().out)}
    assert run(["probe", "limits", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert any(fact["name"] == "node.memlock" for fact in found["facts"])
    assert run(["probe", "limitz"]) == 2
    assert "did you mean" in capsys.readouterr().err


def test_many_nodes_are_asked_and_those_that_do_not_answer_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = tmp_path / "shell"
    shell.write_text(
        '#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift; test $1 = n2 && exit 7; shift; sh -c "$*"\n'
    )
    shell.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    how = ["--hosts", "n[1-2]", "--ssh", str(shell), "--remote-command", f"{sys.executable} -m doctor"]
    assert run(["run", "--no-input", *how]) in (1, 3)  # a node that was not seen is not healthy
    shown = capsys.readouterr().out
    assert "Asked 2 hosts: 1 answered." in shown and "n2 was not looked at: ended with status 7" in shown
    assert run(["run", "--hosts", "n2", "--ssh", str(shell)]) == 2
    assert "n2 was not looked at" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--hosts", "-oProxyCommand=sh"], "no name of a host"),
        (["--hosts", "a", "--slurm", "7"], "leave one of them out"),
        (["--hosts", "a", "--pid", "7"], "of one node"),
        (["--hostfile", "/no/such"], "/no/such"),
        (["--hosts", ","], "no host is named"),
        (["--hosts", "a", "--per-host", "nan"], "no number of seconds"),
        (["--hosts", "a", "--per-host", "inf"], "per-host"),
        (["--window", "nan"], "no number of seconds"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_job_that_does_not_run_here_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--job", "no-such-job"]) == 2
    assert "no job here is called no-such-job" in capsys.readouterr().err
    assert run(["probe", "stacks", "--pid", "1", "--job", "x"]) == 2
    assert "leave one of the two out" in capsys.readouterr().err
