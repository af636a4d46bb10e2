from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge
from doctor.session.answers import Answers
from doctor.session.node import look, read_node
from probes.node import infiniband
from probes.node.interface.host import Host
from tests.probes.node.hosts import host_of, known
from tests.probes.node.ports import port

NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


def node(root: Path, *ports: Mapping[str, str]) -> Host:
    return replace(host_of(root, {name: text for files in ports for name, text in files.items()}), window=0.0)


def causes(host: Host) -> set[str]:
    report = judge(read_node(look(host, ["infiniband"]), load_rulebase()), Answers())
    return {finding.rule.cause for finding in report.diagnosis.findings}


def test_ports_with_their_state(tmp_path: Path) -> None:
    found = known(infiniband.probe(node(tmp_path, port("mlx5_0"), port("mlx5_10", rate="200 Gb/sec (2X NDR)"))))
    assert found["node.ib_devices", "node:n1"] == ("mlx5_0", "mlx5_10")
    assert found["nic.state", "nic:n1/mlx5_0"] == "ACTIVE"
    assert found["nic.phys_state", "nic:n1/mlx5_0"] == "LinkUp"
    assert found["nic.rate", "nic:n1/mlx5_0"] == 50e9
    assert found["nic.rate", "nic:n1/mlx5_10"] == 25e9
    assert found["nic.lid", "nic:n1/mlx5_0"] == 18
    assert found["nic.firmware", "nic:n1/mlx5_0"] == "28.39.1002"
    assert found["node.ib_device_files", "node:n1"] is True


def test_no_rdma_device_is_known_as_none(tmp_path: Path) -> None:
    assert known(infiniband.probe(host_of(tmp_path, {}))) == {("node.ib_devices", "node:n1"): ()}


def test_eight_good_ports_are_no_finding_and_one_that_is_down_is(tmp_path: Path) -> None:
    good = [port(f"mlx5_{n}") for n in range(8)]
    assert causes(node(tmp_path / "good", *good)) == set()
    bad = [*good[:2], port("mlx5_2", state="1: DOWN", phys_state="3: Disabled"), *good[3:]]
    assert "ib-port-down" in causes(node(tmp_path / "bad", *bad))


def test_counters_are_read_twice_so_that_growth_shows(tmp_path: Path) -> None:
    counter = "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed"
    host = node(tmp_path, port("mlx5_0") | {counter: "7\n"})
    samples = [fact for fact in infiniband.probe(host) if fact.name == "nic.counters"]
    assert len(samples) == 2
    assert known(infiniband.probe(host))["nic.link_downed", "nic:n1/mlx5_0"] == 7


def test_gids_of_roce_with_their_version_and_address(tmp_path: Path) -> None:
    folder = "/sys/class/infiniband/mlx5_0/ports/1"
    gids = {"0": "fe80:0000:0000:0000:946d:aeff:fe12:3456", "3": "0000:0000:0000:0000:0000:ffff:c000:0205", "4": NO_GID}
    files = port("mlx5_0", "Ethernet", rate="100 Gb/sec (4X EDR)")
    files |= {f"{folder}/gids/{index}": gid for index, gid in gids.items()}
    files |= {f"{folder}/gid_attrs/types/{index}": "RoCE v2\n" for index in gids}
    files |= {f"{folder}/gid_attrs/ndevs/{index}": "eth2\n" for index in gids}
    found = known(infiniband.probe(node(tmp_path, files)))
    assert found["nic.gids", "nic:n1/mlx5_0"] == ("0 v2 link-local", "3 v2 192.0.2.5")
    assert found["nic.gid_roce_v2_index", "nic:n1/mlx5_0"] == 3
    assert found["nic.netdev", "nic:n1/mlx5_0"] == "eth2"


@pytest.mark.parametrize(
    ("kind", "name", "cause"),
    [
        ("counters", "link_downed", "ib-link-flap"),
        ("hw_counters", "packet_seq_err", "lossy-network"),
        ("hw_counters", "rp_cnp_handled", ""),
    ],
)
def test_what_a_port_counts_while_it_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str, cause: str
) -> None:
    counter = f"/sys/class/infiniband/mlx5_0/ports/1/{kind}/{name}"
    host = node(tmp_path, *(port(f"mlx5_{n}") for n in range(2)), {counter: "7\n"})
    monkeypatch.setattr(infiniband, "sleep", lambda seconds: (tmp_path / counter.lstrip("/")).write_text("5007\n"))
    outcomes = look(host, ["infiniband"])
    samples = [str(f.value) for f in outcomes[0].facts if f.name == "nic.counters" and "mlx5_0" in f.entity]
    assert [f"'{name}={count}'" in sample for sample, count in zip(samples, (7, 5007), strict=True)] == [True, True]
    report = judge(read_node(outcomes, load_rulebase()), Answers())
    assert cause in {finding.rule.cause for finding in report.diagnosis.findings} | {""}


def test_a_longer_window_is_given_its_time(tmp_path: Path) -> None:
    host = node(tmp_path, port("mlx5_0"))
    assert infiniband.SPEC.time_on(replace(host, window=1.0)) == infiniband.SPEC.seconds
    assert infiniband.SPEC.time_on(replace(host, window=31.0)) == infiniband.SPEC.seconds + 30
