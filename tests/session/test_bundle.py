"""A bundle tells the same as the files it was made of, holds no secret, and may be damaged or hostile."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from doctor.facts.model import Fact
from doctor.rulebase.load import load_rulebase
from doctor.session import archives, bundle_writer
from doctor.session.analyze import analyze_paths
from doctor.session.bundle import FACTS, MANIFEST
from doctor.session.bundle_writer import Bundled, write_bundle
from doctor.session.inputs import InputError
from doctor.session.node import Outcome, ProbeSpec
from doctor.session.report import Report
from tests.probes.secrets.planted import PLANTED

SAMPLE = Path(__file__).parents[2] / "fixtures/sample/job"
OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n"
SUFFIXES = (".tar.zst", ".tar.gz", ".zip")


def bundle(
    target: Path, *paths: Path, outcomes: tuple[Outcome, ...] = (), keep_hosts: bool = False, force: bool = False
) -> Bundled:
    return write_bundle(
        str(target), [str(path) for path in paths], load_rulebase().base, outcomes, keep_hosts=keep_hosts, force=force
    )


def told(report: Report) -> tuple[object, ...]:
    diagnosis = report.diagnosis
    roots = [(root.rule.id, root.role, round(root.belief, 6), root.entities) for root in diagnosis.roots]
    return diagnosis.verdict, roots, [(given.path, given.kind, given.rank) for given in report.inputs]


def roots(path: Path) -> list[tuple[str, str]]:
    return [(root.rule.id, root.role) for root in analyze_paths([path]).diagnosis.roots]


def members(path: Path) -> dict[str, bytes]:
    if path.name.endswith(".zst"):
        plain = io.BytesIO(b"".join(zstandard.ZstdDecompressor().read_to_iter(path.open("rb"))))
        with tarfile.open(fileobj=plain) as archive:
            return {info.name: stored.read() for info in archive if (stored := archive.extractfile(info))}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(path) as archive:
        return {info.name: stored.read() for info in archive if (stored := archive.extractfile(info))}


def packed(path: Path, content: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def keys(report: Report) -> list[str]:
    return [note.key for note in report.all_notes]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_bundle_tells_the_same_as_the_job(suffix: str, tmp_path: Path) -> None:
    done = bundle(tmp_path / f"b{suffix}", SAMPLE)
    assert len(done.manifest.files) == 10
    assert told(analyze_paths([tmp_path / f"b{suffix}"])) == told(analyze_paths([SAMPLE]))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_logs_that_pack_very_well_are_read_back_whole(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "FLOOR", 100_000)
    monkeypatch.setattr(archives, "RATIO", 2)
    (tmp_path / "job").mkdir()
    (tmp_path / "job/a.log").write_text("waiting for the others\n" * 100_000 + OOM)
    bundle(tmp_path / f"b{suffix}", tmp_path / "job")
    report = analyze_paths([tmp_path / f"b{suffix}"])
    assert report.diagnosis.roots and not report.all_notes


def test_an_unpacked_bundle_tells_the_same(tmp_path: Path) -> None:
    bundle(tmp_path / "b.zip", SAMPLE)
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        archive.extractall(tmp_path / "open")
    assert told(analyze_paths([tmp_path / "open"])) == told(analyze_paths([SAMPLE]))


def test_a_bundle_of_a_bundle_tells_the_same(tmp_path: Path) -> None:
    bundle(tmp_path / "b.zip", SAMPLE)
    bundle(tmp_path / "c.tar.gz", tmp_path / "b.zip")
    assert told(analyze_paths([tmp_path / "c.tar.gz"])) == told(analyze_paths([SAMPLE]))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_planted_secret_is_in_any_file_of_the_bundle(suffix: str, tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    lines = [form % secret for form, secret in PLANTED.values()]
    (job / "rank3.log").write_text(OOM + "\n".join(lines) + "\n")
    (job / "env.txt").write_text("\n".join(["RANK=0", "NCCL_DEBUG=INFO", *lines]) + "\n")
    (job / "train.sh").write_text(
        "\n".join(f"export X{n}='{secret}'" for n, (_, secret) in enumerate(PLANTED.values()))
    )
    (job / "old.log.gz").write_bytes(gzip.compress((OOM + "\n".join(reversed(lines))).encode()))
    done = bundle(tmp_path / f"b{suffix}", job)
    whole = b"\n".join([*members(tmp_path / f"b{suffix}").values(), (tmp_path / f"b{suffix}").read_bytes()])
    assert [name for name, (_, secret) in PLANTED.items() if secret.encode() in whole] == []
    assert len(PLANTED) >= 40 and sum(done.manifest.hidden.values()) >= 2 * len(PLANTED)
    assert roots(tmp_path / f"b{suffix}") == roots(job)


def test_a_secret_in_the_name_of_a_file_is_hidden(tmp_path: Path) -> None:
    secret = PLANTED["github"][1]
    (tmp_path / f"run-{secret}").mkdir()
    (tmp_path / f"run-{secret}" / "rank3.log").write_text(OOM)
    bundle(tmp_path / "b.zip", tmp_path / f"run-{secret}", tmp_path / f"run-{secret}" / "rank3.log")
    content = members(tmp_path / "b.zip")
    assert not [name for name, data in content.items() if secret in name or secret.encode() in data]


def test_hosts_get_other_names_and_findings_stay(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    for rank, host in enumerate(("acme-a100-3", "acme-a100-8")):
        (job / f"rank{rank}.log").write_text(
            f"{host}:12:34 [0] NCCL INFO cudaDev 0 nvmlDev 0\n" + OOM.replace("3", str(rank))
        )
    done = bundle(tmp_path / "b.zip", job)
    assert done.names == {"acme-a100-3": "host-3", "acme-a100-8": "host-8"}
    assert not [data for data in members(tmp_path / "b.zip").values() if b"acme" in data]
    kept = bundle(tmp_path / "k.zip", job, keep_hosts=True)
    assert kept.names == {} and told(analyze_paths([tmp_path / "k.zip"])) == told(analyze_paths([job]))
    assert told(analyze_paths([tmp_path / "b.zip"])) == told(analyze_paths([job]))


def test_recordings_and_probes_are_kept_as_facts(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    (job / "loads.jsonl").write_text(
        "".join(
            json.dumps({"layer": n, "tokens_per_expert": [4000, 10, 10, 10, 10, 10, 10, 10]}) + "\n" for n in range(4)
        )
    )
    spec = ProbeSpec("limits", "limits", ("node.*",))
    outcome = Outcome(spec, [Fact("node.shm_total", 64 << 20, "node:acme-07")])
    done = bundle(tmp_path / "b.zip", job, outcomes=(outcome,))
    report = analyze_paths([tmp_path / "b.zip"])
    assert report.store.get("node.shm_total", "node:host-07") is not None
    assert {given.kind for given in report.inputs} >= {"probe"}
    before = {(fact.name, fact.entity, fact.value) for fact in analyze_paths([job]).store.facts()}
    assert before <= {(fact.name, fact.entity, fact.value) for fact in report.store.facts()}
    assert done.inputs >= 1
    assert bundle(tmp_path / "c.zip", outcomes=(outcome,)).samples == {
        "host": "node.shm_total = 67108864  (node:host-07)"
    }


def test_nothing_is_overwritten_unless_forced_and_only_the_owner_may_read(tmp_path: Path) -> None:
    target = tmp_path / "b.zip"
    target.write_text("mine")
    with pytest.raises(InputError) as caught:
        bundle(target, SAMPLE)
    assert caught.value.note.key == "bundle.exists" and target.read_text() == "mine"
    bundle(target, SAMPLE, force=True)
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]


@pytest.mark.parametrize(("name", "key"), [("b.txt", "bundle.suffix"), ("none/b.zip", "bundle.unwritable")])
def test_a_place_that_cannot_be_written_is_one_clear_remark(name: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        bundle(tmp_path / name, SAMPLE)
    assert caught.value.note.key == key


def test_a_bundle_within_the_collected_folder_is_not_collected_again(tmp_path: Path) -> None:
    (tmp_path / "rank3.log").write_text(OOM)
    bundle(tmp_path / "b.zip", tmp_path)
    assert len(bundle(tmp_path / "b.zip", tmp_path, force=True).manifest.files) == 1


def test_of_a_very_long_log_the_beginning_and_the_end_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_writer, "HEAD", 2 << 20)
    monkeypatch.setattr(bundle_writer, "TAIL", 3 << 20)
    (tmp_path / "rank3.log").write_text("first\n" + "".join(f"step {n} loss 2.5\n" for n in range(600_000)) + OOM)
    done = bundle(tmp_path / "b.zip", tmp_path / "rank3.log")
    [text] = [data for name, data in members(tmp_path / "b.zip").items() if name.startswith("files/")]
    assert done.manifest.files[0].cut and len(text) <= (5 << 20) + 100
    assert text.startswith(b"first\nstep 0 ") and text.endswith(OOM.encode())
    assert {len(line.split()) for line in text.splitlines()[1:-1]} == {4}
    assert analyze_paths([tmp_path / "b.zip"]).diagnosis.verdict == "problem"


def test_a_half_written_bundle_gives_what_is_there(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    for rank in range(4):
        (job / f"rank{rank}.log").write_bytes((OOM + os.urandom(60_000).hex() + "\n").encode())
    bundle(tmp_path / "b.tar.gz", job)
    data = (tmp_path / "b.tar.gz").read_bytes()
    (tmp_path / "half.tar.gz").write_bytes(data[: len(data) // 2])
    report = analyze_paths([tmp_path / "half.tar.gz"])
    assert report.diagnosis.verdict == "problem"
    assert {"input.archive_damaged", "bundle.incomplete"} <= {*keys(report)}


def test_another_schema_costs_the_facts_and_not_the_texts(tmp_path: Path) -> None:
    bundle(tmp_path / "b.zip", SAMPLE)
    content = members(tmp_path / "b.zip")
    content[MANIFEST] = content[MANIFEST].replace(b'{"pdoctor_bundle":1', b'{"pdoctor_bundle":99')
    report = analyze_paths([packed(tmp_path / "new.tar.gz", content)])
    assert "bundle.schema" in keys(report) and report.diagnosis.verdict == "problem"


@pytest.mark.parametrize(
    "manifest",
    [
        b'{"pdoctor_bundle":1',
        b'{"pdoctor_bundle":"x"}',
        b'{"pdoctor_bundle":1,"tool":[]}',
        b'{"pdoctor_bundle":' + b"[" * 100_000,
    ],
)
def test_a_damaged_manifest_is_one_remark(manifest: bytes, tmp_path: Path) -> None:
    report = analyze_paths([packed(tmp_path / "b.tar.gz", {MANIFEST: manifest, "files/rank3.log": OOM.encode()})])
    assert keys(report).count("bundle.damaged") == 1 and report.diagnosis.verdict == "problem"


def test_names_in_a_manifest_lead_nowhere(tmp_path: Path) -> None:
    names = [
        {"name": name, "member": f"files/{n}"} for n, name in enumerate(("../../etc/passwd", "/etc/shadow", "a", "a"))
    ]
    manifest = json.dumps({"pdoctor_bundle": 1, "tool": "x", "written": "y", "files": names}, separators=(",", ":"))
    content = {
        MANIFEST: manifest.encode(),
        **{f"files/{n}": OOM.encode() for n in range(4)},
        "../../up.log": OOM.encode(),
    }
    before = sorted(tmp_path.parent.iterdir())
    report = analyze_paths([packed(tmp_path / "b.tar.gz", content)])
    assert sorted(tmp_path.parent.iterdir()) == before
    assert len({given.path for given in report.inputs}) == len(report.inputs) == 5


def test_links_and_devices_in_a_bundle_are_passed_over(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        for kind, name in ((tarfile.SYMTYPE, MANIFEST), (tarfile.LNKTYPE, FACTS), (tarfile.CHRTYPE, "files/x")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("files/rank3.log")
        info.size = len(OOM)
        archive.addfile(info, io.BytesIO(OOM.encode()))
    found = analyze_paths([tmp_path / "b.tar.gz"]).inputs
    assert [given.path for given in found] == [f"{tmp_path}/b.tar.gz:files/rank3.log"]


def test_hostile_facts_are_left_out_with_a_remark(tmp_path: Path) -> None:
    lines = [
        b'{"pdoctor_facts":1}',
        b'{"fact":{"name":"node.shm_total","value":67108864,"entity":"node:n07"}}',
        b'{"fact":{"name":"node.shm_total","value":"many","entity":"node:n07"}}',
        b'{"fact":{"name":"no.such_fact","value":1}}',
        b'{"input":{"path":"x","kind":"virus"}}',
        b"{}",
        b"[" * 50_000,
        b"\xff\xfe",
        b'{"fact":{"name":"config.tp","value":NaN}}',
    ]
    content = {FACTS: b"\n".join(lines) + b"\n", "files/rank3.log": OOM.encode()}
    report = analyze_paths([packed(tmp_path / "b.tar.gz", content)])
    assert keys(report) == ["bundle.facts"]
    [note] = report.all_notes
    assert note.values["n"] == "7" and "node.shm_total should be int" in note.values["reason"]
    assert [fact.value for fact in report.store.every("node.shm_total")] == [64 << 20]


def test_a_bomb_is_read_in_bounded_room(tmp_path: Path) -> None:
    manifest = b'{"pdoctor_bundle":1,"tool":"x","written":"y","files":[]' + b" " * (20 << 20) + b"}"
    report = analyze_paths([packed(tmp_path / "b.tar.gz", {MANIFEST: manifest, "files/rank3.log": OOM.encode()})])
    assert "bundle.damaged" in keys(report)
