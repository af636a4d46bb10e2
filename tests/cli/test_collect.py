"""`pdoctor collect`: what it says, what it refuses, and that the file tells the same elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.main import FOUND, OK, USAGE, run

SAMPLE = str(Path(__file__).parents[2] / "fixtures/sample/job")
LOG = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n"


@pytest.mark.parametrize("suffix", [".tar.gz", ".zip"])
def test_collect_then_analyze(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / f"b{suffix}")
    assert run(["collect", "--no-node", SAMPLE, "-o", target]) == OK
    said = capsys.readouterr().out
    assert "10 texts (1 config, 1 dump, 8 log)" in said and f"pdoctor analyze {target}" in said
    assert run(["analyze", "--json", "-q", target]) == FOUND
    there = capsys.readouterr().out
    assert run(["analyze", "--json", "-q", SAMPLE]) == FOUND
    assert json.loads(there) == json.loads(capsys.readouterr().out)


def test_it_tells_what_was_hidden_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job/rank3.log").write_text(LOG + "DB_PASSWORD=s3same-open\npython /home/jdoe/train.py\n")
    (tmp_path / "job/model.bin").write_bytes(bytes(range(256)) * 100)
    names = tmp_path / "names.json"
    assert (
        run(["collect", "--no-node", str(tmp_path / "job"), "-o", str(tmp_path / "b.zip"), "--names", str(names)]) == OK
    )
    said = capsys.readouterr().out
    assert "named value 1" in said and "user 1" in said and "model.bin: passed over: not text" in said
    assert "s3same" not in said and "jdoe" not in said.replace(str(tmp_path), "")
    assert json.loads(names.read_text()) == {"user1": "jdoe"} and names.stat().st_mode & 0o777 == 0o600


def test_a_dry_run_shows_what_would_be_hidden_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job/rank3.log").write_text(LOG + "acme-07:1:2 [0] NCCL INFO x\nusing DB_PASSWORD=s3same-open now\n")
    monkeypatch.chdir(tmp_path)
    assert run(["collect", "--no-node", "job", "--dry-run"]) == OK
    said = capsys.readouterr().out
    assert "not written" in said and "using DB_PASSWORD=<redacted> now" in said and "host-07:1:2" in said
    assert "s3same" not in said and "acme" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["job"]


def test_the_name_of_the_bundle_is_made_up_where_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["collect", "--no-node", SAMPLE]) == OK
    (written,) = tmp_path.glob("pdoctor-*.tar.zst")
    assert written.name in capsys.readouterr().out
    assert run(["analyze", "--json", "-q", str(written)]) == FOUND


def test_it_overwrites_nothing_unless_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "b.zip"
    target.write_text("mine")
    assert run(["collect", "--no-node", SAMPLE, "-o", str(target)]) == USAGE
    assert "--force" in capsys.readouterr().err and target.read_text() == "mine"
    assert run(["collect", "--no-node", SAMPLE, "-o", str(target), "--force"]) == OK


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--no-node"], "needs a PATH"),
        (["--no-node", "/no/such/path", "-o", "b.zip"], "no such file"),
        (["--no-node", SAMPLE, "-o", "b.rar"], ".tar.zst, .tar.gz, .tgz, .zip"),
    ],
)
def test_a_mistake_is_one_clear_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["collect", *arguments]) == USAGE
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not list(tmp_path.iterdir())


def test_the_node_is_collected_and_its_secrets_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_" + "aB3dE5gH7jK9mN1pQ4sT6vW8xY2zC0fRbL")
    target = tmp_path / "b.tar.gz"
    assert run(["collect", "-o", str(target)]) == OK
    assert "facts of" in capsys.readouterr().out
    assert run(["analyze", "--json", "-q", str(target)]) in (OK, FOUND, 3)
    report = capsys.readouterr().out
    assert "aB3dE5gH7jK9" not in report and json.loads(report)["inputs"]


def test_a_bundle_goes_to_standard_output_alone(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["collect", "--no-node", SAMPLE, "-o", "-"]) == OK
    out, error = capfdbinary.readouterr()
    (tmp_path / "b.tar.zst").write_bytes(out)
    assert not error and run(["analyze", "-q", str(tmp_path / "b.tar.zst")]) == FOUND
