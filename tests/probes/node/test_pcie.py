from __future__ import annotations

from pathlib import Path

from probes.node.pcie import probe
from tests.probes.node.hosts import gaps, host_of, known

NODE = "node:n1"


def device(
    address: str, kind: str, vendor: str = "0x10de", now: str = "16", most: str = "16", rev: str = "0xa1"
) -> dict[str, str]:
    folder = f"/sys/bus/pci/devices/{address}"
    values = {"class": kind, "vendor": vendor, "current_link_width": now, "max_link_width": most, "revision": rev}
    return {f"{folder}/{name}": value + "\n" for name, value in values.items()}


def bridge(root: Path, address: str, control: int | None, size: int = 4096) -> None:
    """A bridge whose first extended capability is AER and whose second is ACS, if it has `control`."""
    data = bytearray(size)
    if size > 0x1F8:
        data[0x100:0x104] = (0x0001 | 1 << 16 | 0x1F0 << 20).to_bytes(4, "little")
        if control is not None:
            data[0x1F0:0x1F4] = (0x000D | 1 << 16).to_bytes(4, "little")
            data[0x1F6:0x1F8] = control.to_bytes(2, "little")
    path = root / f"sys/bus/pci/devices/{address}"
    path.mkdir(parents=True, exist_ok=True)
    (path / "config").write_bytes(data)
    (path / "class").write_text("0x060400\n")


def test_gpus_on_the_bus_and_narrow_links(tmp_path: Path) -> None:
    files = device("0000:1b:00.0", "0x030200") | device("0000:2b:00.0", "0x030200", now="8")
    files |= device("0000:3b:00.0", "0x020700", "0x15b3", now="4") | device("0000:4b:00.0", "0x060400", "0x1000", "1")
    found = known(probe(host_of(tmp_path, files)))
    assert found["node.pci_gpu_count", NODE] == 2
    assert found["node.pci_links_narrow", NODE] == ("0000:2b:00.0 x8 of x16", "0000:3b:00.0 x4 of x16")


def test_whole_links_and_those_that_tell_nothing_are_not_narrow(tmp_path: Path) -> None:
    files = device("0000:1b:00.0", "0x030200") | device("0000:2b:00.0", "0x030200", now="0")
    files |= device("0000:3b:00.0", "0x030200", now="63", most="255") | device(
        "0000:4b:00.0", "0x030200", now="Unknown"
    )
    assert ("node.pci_links_narrow", NODE) not in known(probe(host_of(tmp_path, files)))


def test_a_device_that_does_not_answer(tmp_path: Path) -> None:
    files = device("0000:1b:00.0", "0x030200", rev="0xff") | device("0000:2b:00.0", "0x030200")
    assert known(probe(host_of(tmp_path, files)))["node.pci_devices_lost", NODE] == ("0000:1b:00.0",)


def test_access_control_is_on_by_validation_or_redirection_alone(tmp_path: Path) -> None:
    for control, on in ((0x1D, True), (0x04, True), (0x10, False), (0x00, False), (None, False)):
        bridge(tmp_path, "0000:00:01.0", control)
        bridge(tmp_path, "0000:00:02.0", None)
        found = known(probe(host_of(tmp_path, {})))
        assert (found["node.acs_redirect", NODE], found["node.acs_redirect_bridges", NODE]) == (on, int(on)), control


def test_without_root_access_control_is_unknown_and_not_off(tmp_path: Path) -> None:
    bridge(tmp_path, "0000:00:01.0", 0x1D, size=64)
    given = list(probe(host_of(tmp_path, {})))
    assert "root" in gaps(given)["node.acs_redirect"]
    assert ("node.acs_redirect", NODE) not in known(given)


def test_a_chain_of_capabilities_that_runs_in_a_circle_ends(tmp_path: Path) -> None:
    bridge(tmp_path, "0000:00:01.0", None)
    config = tmp_path / "sys/bus/pci/devices/0000:00:01.0/config"
    data = bytearray(config.read_bytes())
    data[0x1F0:0x1F4] = (0x0001 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    config.write_bytes(data)
    assert known(probe(host_of(tmp_path, {})))["node.acs_redirect", NODE] is False
