"""AMD cards: sysfs under a root, and a program amd-smi that prints what the real one does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import look, read_node
from probes.node.amd import probe
from probes.node.interface.host import Host, Ran
from tests.probes.amd_cards import metric, static, topology
from tests.probes.node.hosts import gaps, host_of, known


def cards(root: Path, number: int = 2, vendor: str = "0x1002", more: Mapping[str, str] | None = None) -> Host:
    files = {f"/sys/class/drm/card{n}/device/vendor": f"{vendor}\n" for n in range(number)}
    files |= {"/sys/class/drm/card0-DP-1/status": "disconnected\n", "/sys/class/drm/version": "drm 1.1.0\n"}
    return host_of(root, files | dict(more or {}))


def amd_smi(changed: Mapping[int, Mapping[str, Any]] | None = None, number: int = 2) -> Any:
    def run(command: Sequence[str], seconds: float) -> Ran:
        out = {"static": static(number), "metric": metric(number, changed), "topology": topology(number)}
        return Ran(0, out[command[1]], "")

    return run


def causes(host: Host) -> dict[str, list[str]]:
    report = judge(read_node(look(host, ["amd"]), load_rulebase()), Answers())
    return {f.rule.cause: [remedy.id for remedy in f.rule.remedies] for f in report.diagnosis.findings}


def test_healthy_cards_are_no_finding(tmp_path: Path) -> None:
    host = replace(cards(tmp_path, 8), run=amd_smi(number=8))
    found = known(probe(host))
    assert found["node.amd_gpu_count", "node:n1"] == found["node.gpu_count", "node:n1"] == 8
    assert found["gpu.name", "gpu:n1/7"] == "AMD Instinct MI300X"
    assert found["gpu.xgmi_peers", "gpu:n1/7"] == 7
    assert causes(host) == {}


def test_faults_find_their_rules(tmp_path: Path) -> None:
    changed = {0: {"ecc": {"total_uncorrectable_count": 2}}, 1: {"pcie": {"width": 8}}}
    found = causes(replace(cards(tmp_path), run=amd_smi(changed)))
    assert {"gpu-ecc-uncorrectable", "gpu-pcie-degraded"} <= found.keys()
    link = causes(replace(cards(tmp_path), run=amd_smi({1: {"xgmi_err": "AMDSMI_XGMI_STATUS_ERROR"}})))
    assert "xgmi-hardware" in link


def test_without_amd_smi_the_driver_tells_some_of_it(tmp_path: Path) -> None:
    def missing(command: Sequence[str], seconds: float) -> Ran:
        raise FileNotFoundError(2, "No such file or directory")

    folder = "/sys/class/drm/card1/device"
    more = {
        f"{folder}/mem_info_vram_total": "206141652992\n",
        f"{folder}/gpu_busy_percent": "93\n",
        f"{folder}/current_link_width": "8\n",
        f"{folder}/max_link_width": "16\n",
        f"{folder}/ras/umc_err_count": "ue: 1\nce: 20\n",
        f"{folder}/ras/gfx_err_count": "ue: 0\nce: 2\n",
        f"{folder}/ras/features": "feature mask: 0x0\n",
    }
    given = list(probe(replace(cards(tmp_path, more=more), run=missing)))
    found = known(given)
    assert found["gpu.memory_total", "gpu:n1/1"] == 206141652992
    assert found["gpu.utilization", "gpu:n1/1"] == 0.93
    assert (found["gpu.ecc_uncorrectable", "gpu:n1/1"], found["gpu.ecc_correctable", "gpu:n1/1"]) == (1, 22)
    assert ("gpu.ecc_uncorrectable", "gpu:n1/0") not in found
    assert gaps(given)["gpu.amd_metric"] == "amd-smi: No such file or directory"


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    def denied(command: Sequence[str], seconds: float) -> Ran:
        return Ran(1, "", "Traceback\nPermissionError: user is not in the group render\n")

    given = list(probe(replace(cards(tmp_path), run=denied)))
    assert gaps(given)["gpu.amd_static"] == "PermissionError: user is not in the group render"


def test_other_cards_are_none_of_amds(tmp_path: Path) -> None:
    assert known(probe(cards(tmp_path, vendor="0x10de"))) == {("node.amd_gpu_count", "node:n1"): 0}
    assert known(probe(host_of(tmp_path / "none", {}))) == {("node.amd_gpu_count", "node:n1"): 0}
