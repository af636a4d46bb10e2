from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import look, read_node
from probes.node.interface.host import Ran
from probes.node.kernel_log import probe
from tests.probes.node.hosts import gaps, host_of, texts

BOOT = 1_767_000_000
STAT = {"/proc/stat": f"cpu 1 2 3\nbtime {BOOT}\n"}
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def records(*lines: tuple[float, str]) -> str:
    return "".join(f"4,{n},{int(at * 1e6)},-;{text}\n SUBSYSTEM=pci\n" for n, (at, text) in enumerate(lines))


def at(hours: float) -> float:
    return BOOT + hours * 3600


def test_records_become_lines_with_time_and_host(tmp_path: Path) -> None:
    files = STAT | {"/dev/kmsg": records((7200.5, XID))}
    (found,) = texts(probe(replace(host_of(tmp_path, files), clock=lambda: at(3))))
    assert found.text == f"2025-12-29T11:20:00.500+00:00 n1 kernel: {XID}\n"
    assert found.host == "n1"


def test_what_is_older_than_a_day_is_left_out(tmp_path: Path) -> None:
    files = STAT | {"/dev/kmsg": records((3600, XID), (30 * 3600, "usb 1-1: new device"))}
    (found,) = texts(probe(replace(host_of(tmp_path, files), clock=lambda: at(31))))
    assert "Xid" not in found.text and "usb" in found.text


def test_without_the_device_dmesg_is_asked(tmp_path: Path) -> None:
    host = replace(
        host_of(tmp_path, STAT),
        clock=lambda: at(1),
        run=lambda command, seconds: Ran(0, f"<4>[   12.000000] {XID}\n", ""),
    )
    (found,) = texts(probe(host))
    assert XID in found.text


def test_a_user_who_may_not_read_it_learns_why(tmp_path: Path) -> None:
    refused = Ran(1, "", "dmesg: read kernel buffer failed: Operation not permitted\n")
    given = list(probe(replace(host_of(tmp_path, STAT), run=lambda command, seconds: refused)))
    reason = gaps(given)["node.kernel_log"]
    assert "/dev/kmsg: No such file" in reason and "Operation not permitted" in reason and not texts(given)


def test_a_storm_of_xids_is_the_gpus_on_this_node(tmp_path: Path) -> None:
    storm = [(100.0 + n, XID) for n in range(200)] + [(99.0, "NVRM: GPU at PCI:0000:1b:00: GPU-0123")]
    host = replace(host_of(tmp_path, STAT | {"/dev/kmsg": records(*storm)}), clock=lambda: at(1))
    report = judge(read_node(look(host, ["kernel_log"]), load_rulebase()), Answers())
    (root,) = report.diagnosis.roots
    assert root.rule.cause == "gpu-fell-off-bus"
    assert all("?" not in entity for entity in report.store.entities("node"))
