"""RDMA ports as sysfs shows them."""

from __future__ import annotations

COUNTERS = ("symbol_error", "link_downed", "port_rcv_errors", "port_xmit_discards")


def port(device: str, layer: str = "InfiniBand", **changed: str) -> dict[str, str]:
    """The files of one port that is up."""
    folder = f"/sys/class/infiniband/{device}"
    values = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "400 Gb/sec (4X NDR)",
        "link_layer": layer,
        "lid": "0x12",
        "sm_lid": "0x1",
        **changed,
    }
    files = {f"{folder}/ports/1/{name}": f"{value}\n" for name, value in values.items()}
    files |= {f"{folder}/ports/1/counters/{name}": "0\n" for name in COUNTERS}
    return files | {f"{folder}/fw_ver": "28.39.1002\n", f"{folder}/hca_type": "MT4129\n", "/dev/infiniband/uverbs0": ""}
