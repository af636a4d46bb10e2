"""The runner, over probes of the shape that the folder's have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from doctor.facts.model import Fact
from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import Outcome, known_probes, look, read_node, run_side_by_side
from probes.node.interface.host import Host
from probes.node.interface.model import Given, Place, ProbeSpec, Text, measured

HOST = Host("n1", Path("/nowhere"))


@dataclass
class Scripted:
    """A probe that gives `items`, then sleeps, then breaks."""

    name: str
    items: list[Given] = field(default_factory=list)
    sleeps: float = 0.0
    breaks: bool = False
    seconds: float = 60.0

    @property
    def SPEC(self) -> ProbeSpec:
        return ProbeSpec(self.name, "", ("node.cpus",), seconds=self.seconds)

    def probe(self, host: Host) -> Iterator[Given]:
        yield from self.items
        time.sleep(self.sleeps)
        if self.breaks:
            raise ZeroDivisionError("no")


CPUS = measured("node.cpus", 8, "node:n1", "here")


def test_one_that_breaks_or_hangs_costs_its_own_part_only() -> None:
    good, broken, late = run_side_by_side(
        [
            Scripted("good", [CPUS]),
            Scripted("broken", [CPUS], breaks=True),
            Scripted("late", [CPUS], sleeps=30, seconds=0.3),
        ],
        HOST,
    )
    assert (good.found, good.gaps) == ([CPUS], [])
    assert broken.found == [CPUS] and "ZeroDivisionError: no" in broken.gaps[0]
    assert late.found == [CPUS] and late.gaps == ["gave no answer within 0.3 s"]


def test_one_that_a_person_skips_is_waited_for_no_longer_and_each_is_told_when_it_ends() -> None:
    told: list[str] = []
    skipped: set[str] = set()

    def hear(outcome: Outcome) -> None:
        told.append(outcome.spec.name)
        skipped.add("long")

    long, short = run_side_by_side(
        [Scripted("long", [CPUS], sleeps=30, seconds=600), Scripted("short", [CPUS])], HOST, hear, skipped
    )
    assert told == ["short", "long"]
    assert long.found == [CPUS] and long.gaps == ["was skipped"]
    assert short.gaps == []


def test_texts_and_files_are_read_like_files_that_were_given(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB.\n")
    kernel = "2026-01-02T03:04:05+00:00 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
    items: list[Given] = [Text("kernel log", kernel), Place(str(log)), Place(str(tmp_path / "gone.log"))]
    report = judge(read_node(run_side_by_side([Scripted("job", items)], HOST), load_rulebase()), Answers())
    assert {given.path for given in report.inputs} == {"probe job", "kernel log", str(log)}
    assert "torch.cuda_oom" in report.store.event_names()
    assert {event.host for event in report.store.events() if "Xid" in event.source.text} == {"n1"}
    assert [note.key for note in report.notes] == ["input.missing"]


def test_every_probe_is_described_and_gives_what_it_says() -> None:
    catalogue = load_rulebase().base.catalogue
    known = known_probes()
    assert all(spec.looks_at and spec.provides and spec.seconds <= 3 for spec in known.values())
    for outcome in look(Host("n1"), list(known)):
        for fact in outcome.facts:
            assert isinstance(fact, Fact)
            family = fact.name.partition(".")[0] + ".*"
            assert fact.name in catalogue or family in catalogue, fact
            assert not fact.entity.endswith("?"), fact
