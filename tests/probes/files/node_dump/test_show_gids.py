"""The GID table."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, survives

GIDS = """\
DEV	PORT	INDEX	GID					IPv4  		VER	DEV
---	----	-----	---					------------  	---	---
mlx5_0	1	0	fe80:0000:0000:0000:0ac0:ebff:fe00:0001			v1	ens1
mlx5_0	1	1	fe80:0000:0000:0000:0ac0:ebff:fe00:0001			v2	ens1
mlx5_0	1	2	0000:0000:0000:0000:0000:ffff:c0a8:0105	192.168.1.5  	v1	ens1
mlx5_0	1	5	0000:0000:0000:0000:0000:ffff:c0a8:0105	192.168.1.5  	v2	ens1
mlx5_1	1	0	fe80:0000:0000:0000:0ac0:ebff:fe00:0002			v1	ens2
mlx5_1	1	1	fe80:0000:0000:0000:0ac0:ebff:fe00:0002			v2	ens2
n_gids_found=6
"""


def test_the_index_of_the_routable_address() -> None:
    found = facts(GIDS)
    assert found["nic:?/mlx5_0", "nic.gid_roce_v2_index"] == 5
    assert found["nic:?/mlx5_0", "nic.gids"] == (
        "0 v1 link-local",
        "1 v2 link-local",
        "2 v1 192.168.1.5",
        "5 v2 192.168.1.5",
    )
    assert found["nic:?/mlx5_0", "nic.netdev"] == "ens1"


def test_a_port_with_link_local_addresses_alone_has_none() -> None:
    assert ("nic:?/mlx5_1", "nic.gid_roce_v2_index") not in facts(GIDS)


def test_addresses_in_other_text_are_none() -> None:
    assert kinds("inet6 fe80:0000:0000:0000:0ac0:ebff:fe00:0001 scope link v2\n") == ()


def test_damage() -> None:
    survives(GIDS)
