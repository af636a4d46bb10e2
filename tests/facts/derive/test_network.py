"""Hosts, versions, transports, interfaces and targets over the NCCL lines of all ranks."""

from __future__ import annotations

from typing import Any

from doctor.facts.derive import network, network_tables
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore


def event(name: str, host: str = "", run: str = "job", **fields: Any) -> Event:
    text = f"{host}:10:20 [0] NCCL INFO {name}" if host else name
    return Event(name, Source("log", f"{host or 'job'}.log", 1, text), fields, run=run)


def facts(*events: Event, known: tuple[Fact, ...] = ()) -> dict[str, Value]:
    store = FactStore(known, events)
    return {fact.name: fact.value for module in (network, network_tables) for fact in module.derive(store)}


def using(host: str, interface: str, address: str) -> Event:
    return event("nccl.bootstrap_using", host, interface=interface, address=address)


def failed(address: str) -> Event:
    return event("nccl.connect_failed", "h2", address=address, reason="Connection refused")


class TestHosts:
    def test_two_hosts_make_a_job_of_several_nodes(self) -> None:
        found = facts(using("h1", "eth0", "10.0.0.1"), using("h2", "eth0", "10.0.0.2"))
        assert found["nccl.hosts"] == 2
        assert found["job.multi_node"] is True

    def test_a_network_channel_needs_a_second_node_even_if_only_one_log_is_there(self) -> None:
        assert facts(event("nccl.channel", "h1", via="NET/Socket/0"))["job.multi_node"] is True

    def test_one_log_of_one_rank_says_nothing_about_other_nodes(self) -> None:
        assert "job.multi_node" not in facts(event("nccl.init_complete", "h1", comm_rank=0, nranks=16))

    def test_every_rank_on_one_host_is_a_single_node(self) -> None:
        inits = [event("nccl.init_complete", "h1", comm_rank=rank, nranks=2) for rank in (0, 1)]
        assert facts(*inits)["job.multi_node"] is False

    def test_the_configuration_counts(self) -> None:
        assert facts(known=(Fact("config.nnodes", 4),))["job.multi_node"] is True


class TestVersions:
    def test_hosts_with_different_versions_differ(self) -> None:
        found = facts(
            event("nccl.version", "h1", version="2.26.2+cuda12.2"), event("nccl.version", "h2", version="2.23.4")
        )
        assert found["nccl.versions_differ"] is True
        assert found["nccl.version"] == "2.23.4"

    def test_the_cuda_part_is_no_difference(self) -> None:
        found = facts(
            event("nccl.version", "h1", version="2.26.2+cuda12.2"),
            event("nccl.version", "h2", version="2.26.2+cuda12.8"),
        )
        assert found["nccl.versions_differ"] is False

    def test_two_runs_may_use_two_versions(self) -> None:
        found = facts(
            event("nccl.version", "h1", run="before", version="2.21.5"),
            event("nccl.version", "h2", run="after", version="2.26.2"),
        )
        assert found["nccl.versions_differ"] is False


class TestNetworks:
    def test_one_host_on_sockets_and_one_on_infiniband_differ(self) -> None:
        found = facts(
            event("nccl.using_network", "h1", network="IB"), event("nccl.using_network", "h2", network="Socket")
        )
        assert found["nccl.networks_differ"] is True

    def test_a_single_host_does_not_differ(self) -> None:
        assert facts(event("nccl.using_network", "h1", network="IB"))["nccl.networks_differ"] is False

    def test_gpudirect_on_one_host_only(self) -> None:
        found = facts(event("nccl.channel", "h1", via="NET/IB/0/GDRDMA"), event("nccl.channel", "h2", via="NET/IB/0"))
        assert found["nccl.gdr_differs"] is True

    def test_a_host_that_receives_directly_and_sends_through_memory_is_not_the_odd_one(self) -> None:
        channels = [event("nccl.channel", h, via=via) for h in ("h1", "h2") for via in ("NET/IB/0/GDRDMA", "NET/IB/0")]
        assert facts(*channels)["nccl.gdr_differs"] is False


class TestInterfaces:
    def test_a_docker_bridge_is_virtual(self) -> None:
        found = facts(using("h1", "docker0", "172.17.0.1"), using("h2", "docker0", "172.17.0.1"))
        assert found["nccl.interface_virtual"] is True
        assert found["nccl.address_shared"] is True

    def test_loopback_is_right_on_one_host_and_wrong_on_two(self) -> None:
        assert facts(using("h1", "lo", "127.0.0.1"))["nccl.interface_virtual"] is False
        assert facts(using("h1", "lo", "127.0.0.1"), using("h2", "lo", "127.0.0.1"))["nccl.interface_virtual"] is True

    def test_bond_and_infiniband_interfaces_are_real(self) -> None:
        assert (
            facts(using("h1", "bond0", "10.0.0.1"), using("h2", "ib0", "10.0.0.2"))["nccl.interface_virtual"] is False
        )

    def test_sockets_over_a_container_bridge_beside_a_real_card(self) -> None:
        found = facts(
            using("h1", "eth0", "10.0.0.1"),
            event("nccl.socket_using", "h1", interfaces="[0]eth0:10.0.0.1<0> [1]virbr0:192.168.122.1<0>"),
        )
        assert found["nccl.socket_virtual"] is True

    def test_unrelated_ranges(self) -> None:
        assert (
            facts(using("h1", "a", "10.0.0.1"), using("h2", "b", "192.168.1.2"))["nccl.address_ranges_differ"] is True
        )


class TestTargets:
    def test_an_address_of_another_card(self) -> None:
        found = facts(using("h1", "eth0", "10.0.1.1"), using("h2", "eth0", "10.0.1.2"), failed("10.0.2.1"))
        assert found["net.target_unlisted"] is True
        assert found["net.target_listed"] is False

    def test_the_address_of_a_host(self) -> None:
        found = facts(using("h1", "eth0", "10.0.1.1"), failed("10.0.1.1"))
        assert found["net.target_listed"] is True

    def test_the_log_of_one_host_does_not_list_the_addresses_of_others(self) -> None:
        found = facts(using("h2", "eth0", "10.0.1.2"), failed("10.0.1.1"))
        assert found["net.target_unlisted"] is False
        assert "net.target_listed" not in found

    def test_a_link_local_address_is_no_address_of_a_network(self) -> None:
        found = facts(using("h1", "eth0", "10.0.1.1"), failed("fe80::6245:bdff:fe0e:3a%enP2s1"))
        assert found["net.target_link_local"] is True
        assert facts(using("h1", "eth0", "10.0.1.1"), failed("10.0.2.1"))["net.target_link_local"] is False

    def test_loopback_and_docker(self) -> None:
        found = facts(using("h1", "eth0", "10.0.1.1"), failed("127.0.0.1"), failed("172.17.0.1"))
        assert found["net.target_loopback"] is True
        assert found["net.target_docker"] is True

    def test_a_site_that_uses_172_16_itself(self) -> None:
        found = facts(using("h1", "eth0", "172.20.1.1"), using("h2", "eth0", "172.20.1.2"), failed("172.20.1.1"))
        assert found["net.target_docker"] is False

    def test_an_address_that_is_none_is_left_alone(self) -> None:
        assert facts(failed("node-7"))["net.target_unlisted"] is False


class TestTables:
    def test_two_routes_to_one_subnet(self) -> None:
        routes = [
            event("system.route", subnet="10.0.0.0/20", interface=i, address="10.0.0.1") for i in ("eno1", "ens2")
        ]
        assert facts(*routes)["net.routes_duplicate"] is True

    def test_a_container_bridge_is_no_second_route(self) -> None:
        routes = [
            event("system.route", subnet="10.0.0.0/20", interface=i, address="10.0.0.1") for i in ("eno1", "br-1")
        ]
        assert facts(*routes)["net.routes_duplicate"] is False

    def test_index_0_is_roce_v1_and_3_is_routable(self) -> None:
        gids = Fact("nic.gids", ("0 v1 link-local", "1 v2 link-local", "3 v2 10.0.0.5"), "nic:h/mlx5_0")
        found = facts(event("nccl.version", "h", version="2.18.1"), known=(gids,))
        assert found["net.gid_not_routable"] is True
        assert found["net.gid_v2_index"] == 3

    def test_the_index_that_was_set_is_the_routable_one(self) -> None:
        gids = Fact("nic.gids", ("0 v1 link-local", "3 v2 10.0.0.5"), "nic:h/mlx5_0")
        assert facts(known=(gids, Fact("env.NCCL_IB_GID_INDEX", "3")))["net.gid_not_routable"] is False

    def test_new_versions_choose_by_themselves(self) -> None:
        gids = Fact("nic.gids", ("0 v1 link-local", "3 v2 10.0.0.5"), "nic:h/mlx5_0")
        assert "net.gid_not_routable" not in facts(event("nccl.version", "h", version="2.26.2"), known=(gids,))

    def test_equal_ports_with_different_mtu(self) -> None:
        known = tuple(
            Fact(name, value, f"nic:{host}/mlx5_0")
            for host, mtu in (("a", 4096), ("b", 1024))
            for name, value in (("nic.mtu", mtu), ("nic.link_layer", "Ethernet"))
        )
        assert facts(known=known)["net.mtu_differs"] is True

    def test_an_interface_and_an_rdma_port_are_not_compared(self) -> None:
        known = (
            Fact("nic.mtu", 1500, "nic:a/eth0"),
            Fact("nic.mtu", 4096, "nic:a/mlx5_0"),
            Fact("nic.link_layer", "InfiniBand", "nic:a/mlx5_0"),
        )
        assert facts(known=known)["net.mtu_differs"] is False

    def test_one_library_under_two_names_is_one_copy(self) -> None:
        paths = ("/usr/lib/libnccl.so.2", "/usr/lib/libnccl.so.2.18.3")
        assert facts(known=(Fact("node.nccl_libraries", paths, "node:a"),))["nccl.library_copies"] == 1


def test_members_that_never_came() -> None:
    found = facts(event("torch.member", global_rank=0, member=1, members=8))
    assert (found["launch.members"], found["launch.members_expected"]) == (1, 8)
    assert found["launch.members_repeated"] is False


def test_two_tasks_that_take_themselves_for_the_same_member() -> None:
    members = [event("torch.member", global_rank=rank, member=rank + 1, members=4) for rank in (0, 1, 1, 0)]
    found = facts(*members)
    assert (found["launch.members"], found["launch.members_repeated"]) == (2, True)


def test_nothing_known_gives_nothing() -> None:
    assert facts() == {}
