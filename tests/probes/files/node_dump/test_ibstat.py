"""InfiniBand and RoCE ports."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

IBSTAT = """\
CA 'mlx5_0'
	CA type: MT4129
	Number of ports: 1
	Firmware version: 28.39.1002
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Base lid: 12
		SM lid: 1
		Link layer: InfiniBand
CA 'mlx5_1'
	CA type: MT4129
	Port 1:
		State: Down
		Physical state: Polling
		Rate: 10
		Link layer: InfiniBand
"""
DEVINFO = """\
hca_id:	mlx5_2
	transport:			InfiniBand (0)
	fw_ver:				20.36.1010
	phys_port_cnt:			2
		port:	1
			state:			PORT_ACTIVE (4)
			max_mtu:		4096 (5)
			active_mtu:		1024 (3)
			sm_lid:			0
			port_lid:		0
			link_layer:		Ethernet
		port:	2
			state:			PORT_DOWN (1)
			active_mtu:		1024 (3)
			link_layer:		Ethernet
"""
STATUS = """\
Infiniband device 'mlx5_3' port 1 status:
	base lid:	 0x0
	sm lid:		 0x0
	state:		 4: ACTIVE
	phys state:	 5: LinkUp
	rate:		 100 Gb/sec (4X EDR)
	link_layer:	 Ethernet
"""


def test_ibstat() -> None:
    found = facts(IBSTAT)
    assert found["nic:?/mlx5_0", "nic.state"] == "ACTIVE"
    assert found["nic:?/mlx5_0", "nic.rate"] == 50e9
    assert found["nic:?/mlx5_0", "nic.sm_lid"] == 1
    assert found["nic:?/mlx5_0", "nic.type"] == "MT4129"
    assert found["nic:?/mlx5_1", "nic.state"] == "DOWN"
    assert found["nic:?/mlx5_1", "nic.phys_state"] == "Polling"
    assert found["node:?", "node.ib_devices"] == ("mlx5_0", "mlx5_1")


def test_ibv_devinfo_tells_ports_apart() -> None:
    found = facts(DEVINFO)
    assert found["nic:?/mlx5_2", "nic.mtu"] == 1024
    assert found["nic:?/mlx5_2", "nic.mtu_max"] == 4096
    assert found["nic:?/mlx5_2", "nic.link_layer"] == "Ethernet"
    assert found["nic:?/mlx5_2:2", "nic.state"] == "DOWN"


def test_ibstatus() -> None:
    found = facts(STATUS)
    assert found["nic:?/mlx5_3", "nic.rate"] == 12.5e9
    assert found["nic:?/mlx5_3", "nic.sm_lid"] == 0


def test_interfaces_behind_devices() -> None:
    found = facts("mlx5_0 port 1 ==> ens1f0np0 (Up)\nmlx5_1 port 1 ==> ens2f0np0 (Down)\n")
    assert found["nic:?/mlx5_0", "nic.netdev"] == "ens1f0np0"
    assert found["nic:?/mlx5_1", "nic.netdev_state"] == "DOWN"


def test_rdma_link() -> None:
    found = facts("link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0\n")
    assert found["nic:?/mlx5_0", "nic.state"] == "ACTIVE"
    assert found["nic:?/mlx5_0", "nic.netdev"] == "ens1f0np0"


def test_no_device_is_a_fact() -> None:
    assert node("$ ibv_devinfo\nNo IB devices found\n") == {"node.ib_devices": ()}


def test_device_files_in_a_container() -> None:
    assert node("$ ls /dev/infiniband\nrdma_cm  uverbs0  uverbs1\n") == {"node.ib_device_files": True}
    assert node("ls: cannot access '/dev/infiniband': No such file or directory\n") == {"node.ib_device_files": False}
    assert node("ls /dev/infiniband -> No such file or directory\n") == {"node.ib_device_files": False}


def test_a_log_that_names_devices_is_none() -> None:
    assert (
        kinds("NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n==> starting\nstate: ready\n") == ()
    )


def test_damage() -> None:
    survives(IBSTAT)
    survives(DEVINFO)
    survives(STATUS)
