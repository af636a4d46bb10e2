from __future__ import annotations

import gzip
from pathlib import Path

from doctor.facts.model import EventSpec, Symptom
from doctor.session.contents import File, beginning
from doctor.session.gather import Gathered, Taken, gather, rooms

OOM = EventSpec("torch.cuda_oom", (r"CUDA out of memory\. Tried",), symptom=Symptom.FATAL)
DF = "$ df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\nshm              64M   64M     0 100% /dev/shm\n"


def gathered(folder: Path, **texts: str) -> Gathered:
    files = []
    for name, text in texts.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
        files.append(File(str(path), path.name, len(text)))
    return gather(files, {OOM.name: OOM})


def test_each_file_is_told_by_its_content(tmp_path: Path) -> None:
    found = gathered(
        tmp_path,
        a__txt="[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n",
        b__txt='{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2}\n',
        c__txt=DF,
    )
    assert [(given.path, given.kind) for given in found.inputs] == [
        ("a.txt", "log"),
        ("b.txt", "config"),
        ("c.txt", "dump"),
    ]
    facts = {fact.name: fact.value for fact in found.facts}
    assert facts["config.zero_stage"] == 3
    assert facts["node.shm_total"] == 64 << 20
    assert [event.rank for event in found.events if event.name == OOM.name] == [3]


def test_of_many_logs_the_first_and_the_last_rank_are_read_further_for_arguments() -> None:
    found = rooms([File(f"rank{n}.log", f"rank{n}.log", 1 << 20) for n in range(256)])
    assert found[0] == found[255] == 1 << 18
    assert found[99] == 1 << 14
    assert sum(found) < 8 << 20


def test_a_reader_that_fails_is_named_and_costs_nothing_else() -> None:
    taken = Taken(File("/x/job.log", "job.log", 1), b"x")

    def broken() -> None:
        raise KeyError("column")

    assert taken.attempt("table", broken) is None
    assert taken.attempt("log", lambda: 7) == 7
    [note] = taken.notes
    assert (note.key, note.path) == ("input.probe_failed", "job.log")
    assert note.values == {"probe": "table", "reason": "KeyError: 'column'"}


def test_remarks_keep_the_line_they_are_about() -> None:
    taken = Taken(File("/x/a.yaml", "a.yaml", 1), b"x")
    taken.says(["a.yaml:12: not valid YAML: x", "a.yaml: too large", "read more slowly"])
    assert [(note.values["place"], note.values["text"]) for note in taken.notes] == [
        (":12", "not valid YAML: x"),
        ("", "too large"),
        ("", "read more slowly"),
    ]


def test_the_beginning_of_a_file_is_whole_lines_of_what_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(b"one two three\n" * 1000))
    data, notes = beginning(File(str(path), "job.log.gz", 100), 50)
    assert data == b"one two three\n" * 3
    assert notes == []


def test_output_of_a_command_that_is_short_did_not_break_off(tmp_path: Path) -> None:
    found = gathered(tmp_path, df__txt=DF, job__log="starting\n")
    assert {event.source.path for event in found.events if event.name == "log.last_line"} == {"job.log"}
