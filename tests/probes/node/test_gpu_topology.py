from __future__ import annotations

import json
from pathlib import Path

from tests.probes.node.gpus import causes_of, pdoctor, table

EVERY = range(8)


def topology_of(values: Path) -> dict[str, object]:
    _, shown = pdoctor("probe", "gpu_topology", "--json", values=values)
    (found,) = json.loads(shown)
    return {fact["name"]: fact["value"] for fact in found["facts"]}


def test_cards_on_a_switch_reach_each_other_by_all_links(tmp_path: Path) -> None:
    assert topology_of(table(tmp_path)) == {
        "node.topology": "NV18",
        "node.topology_best": "NV18",
        "node.nvlink_count": 18,
        "node.nvlink_pairs": 28,
        "node.p2p_status": "OK",
        "node.p2p_unsupported_pairs": 0,
    }


def test_a_link_that_is_down_shortens_every_pair_of_its_card(tmp_path: Path) -> None:
    found = topology_of(table(tmp_path, gpus={3: {"link.7": "0"}}))
    assert (found["node.topology"], found["node.topology_best"], found["node.nvlink_count"]) == ("NV17", "NV18", 17)


def test_cards_without_nvlink_are_as_far_apart_as_pcie_puts_them(tmp_path: Path) -> None:
    found = topology_of(table(tmp_path, gpus={gpu: {"links": "!3", "near": "30", "peer": "1"} for gpu in EVERY}))
    assert (found["node.topology"], found["node.nvlink_count"], found["node.nvlink_pairs"]) == ("PHB", 0, 0)
    assert (found["node.p2p_status"], found["node.p2p_unsupported_pairs"]) == ("CNS", 28)


def test_a_lost_card_is_left_out(tmp_path: Path) -> None:
    found = topology_of(table(tmp_path, gpus={2: {"lost": "1"}}))
    assert found["node.topology"] == "NV18" and found["node.nvlink_pairs"] == 21


def test_a_healthy_node_stays_healthy(tmp_path: Path) -> None:
    assert causes_of(table(tmp_path)) == (0, {})
