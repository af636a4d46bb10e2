"""What NCCL's variables as set for the job say."""

from __future__ import annotations

import pytest

from doctor.facts.derive.nccl_environment import GIVES, as_read, derive, matches
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore


def derived(env: dict[str, str], *facts: tuple[str, str, Value], events: tuple[Event, ...] = ()) -> dict[str, Value]:
    known = [Fact(f"env.{name}", text, source=Source("config", "job.sh", 1, name)) for name, text in env.items()]
    known += [Fact(name, value, entity, Source("dump", "x", 1, name)) for entity, name, value in facts]
    found = list(derive(FactStore(known, events)))
    assert {fact.name for fact in found} <= set(GIVES)
    assert all(fact.because for fact in found if fact.value)
    return {fact.name: fact.value for fact in found}


HEALTHY = {
    "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET", "NCCL_IB_HCA": "=mlx5_0:1,mlx5_3:1", "NCCL_IB_TC": "136",
    "NCCL_SOCKET_IFNAME": "^lo,docker0", "NCCL_IB_GID_INDEX": "3", "NCCL_IB_TIMEOUT": "22", "NCCL_IB_DISABLE": "0",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1", "NCCL_NET_GDR_LEVEL": "PHB", "NCCL_P2P_LEVEL": "5", "NCCL_CROSS_NIC": "1",
    "NCCL_ALGO": "^NVLSTree", "NCCL_TUNER_PLUGIN": "libtuner.so", "NCCL_OFI_PROTOCOL": "RDMA", "NCCL_VERSION": "2.21.5",
    "NCCL_NVLS_ENABLE": "1", "NCCL_BUFFSIZE": "8388608", "NCCL_DEBUG_FILE": "/tmp/n.%h.%p", "NCCL_PROTO": "^LL128",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "1800", "NCCL_MIN_CTAS": "16", "NCCL_IB_QPS_PER_CONNECTION": "8",
}  # fmt: skip


def test_the_variables_of_a_healthy_job_give_nothing() -> None:
    assert derived(HEALTHY, ("job", "nccl.version", "2.21.5")) == {}


def test_a_misspelt_name_is_named_with_the_right_one() -> None:
    assert derived({"NCCL_P2P_DISBALE": "1"}) == {"nccl.env_misspelt": ("NCCL_P2P_DISBALE -> NCCL_P2P_DISABLE",)}


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("NCCL_IB_TIMEOUT", "40", "must be 0 to 31"),
        ("NCCL_BUFFSIZE", "4M", "reads it as 4"),
        ("NCCL_P2P_DISABLE", "true", "reads it as 0"),
        ("NCCL_DEBUG", "info1", "must be one of"),
        ("NCCL_NET_GDR_LEVEL", "NODE", "no distance of NCCL"),
        ("NCCL_SOCKET_IFNAME", "eth0, eth1", "without spaces"),
        ("NCCL_ALGO", "Rings", "Rings is none of"),
        ("NCCL_IB_RETRY_CNT", "13", "must be 0 to 7"),
    ],
)
def test_a_value_that_has_no_effect_is_told_with_what_is_right(name: str, value: str, right: str) -> None:
    text = str(derived({name: value})["nccl.env_invalid"])
    assert f"{name}={value}" in text and right in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_TIMEOUT", "0x16"), ("NCCL_DEBUG", "warn"), ("NCCL_P2P_LEVEL", "NVL"), ("NCCL_BUFFSIZE", "$SIZE"),
        ("NCCL_ALGO", "allreduce:ring,tree;broadcast:ring"), ("NCCL_IB_HCA", ""),
    ],
)  # fmt: skip
def test_a_right_value_is_none(name: str, value: str) -> None:
    assert "nccl.env_invalid" not in derived({name: value})


def test_old_names_lead_to_the_new_ones() -> None:
    found = derived({"NCCL_BLOCKING_WAIT": "1"})["nccl.env_outdated"]
    assert found == ("NCCL_BLOCKING_WAIT: renamed in PyTorch 2.2, now TORCH_NCCL_BLOCKING_WAIT",)


def test_a_variable_of_a_later_version_has_no_effect() -> None:
    assert "nccl.env_too_new" in derived({"NCCL_RAS_ENABLE": "1"}, ("job", "nccl.version", "2.18.3"))
    assert "nccl.env_too_new" not in derived({"NCCL_RAS_ENABLE": "1"}, ("job", "nccl.version", "2.24.3"))


def test_a_path_that_is_switched_off_is_told_unless_the_cards_lack_it() -> None:
    assert "nccl.env_transport_off" in derived({"NCCL_P2P_DISABLE": "1"})
    assert derived({"NCCL_P2P_DISABLE": "1"}, ("gpu:a/0", "gpu.name", "NVIDIA GeForce RTX 4090")) == {}


def test_a_feature_that_is_done_without_is_no_path_switched_off() -> None:
    found = derived({"NCCL_NVLS_ENABLE": "0"})
    assert "nccl.env_transport_off" not in found
    assert str(found["nccl.env_feature_off"]).startswith("('NCCL_NVLS_ENABLE=0: NVLink SHARP is off")
    assert "关闭 NVLink SHARP" in str(found["nccl.env_feature_off_zh"])


def test_hosts_with_different_values_are_named() -> None:
    def line(host: str, value: str) -> Event:
        text = f"{host}:1:1 [0] NCCL INFO NCCL_PROTO set by environment to {value}"
        return Event("nccl.env", Source("log", "x", 1, text), {"name": "NCCL_PROTO", "value": value})

    known = {"NCCL_PROTO": "Simple"}
    found = derived(known, events=(line("n1", "Simple"), line("n2", "LL")))
    assert found["nccl.env_differs"] == ("NCCL_PROTO: LL on n2, Simple on n1",)
    assert "nccl.env_differs" not in derived(known, events=(line("n1", "Simple"), line("n2", "Simple.")))


def test_a_name_without_equals_sign_takes_longer_ones_too() -> None:
    devices = ("node:?", "node.ib_devices", ("mlx5_1", "mlx5_10", "mlx5_2"))
    assert derived({"NCCL_IB_HCA": "mlx5_1"}, devices)["nccl.env_ambiguous"] == (
        "NCCL_IB_HCA: mlx5_1 also selects mlx5_10",
    )
    assert derived({"NCCL_IB_HCA": "=mlx5_1"}, devices) == {}
    assert derived({"NCCL_IB_HCA": "mlx5_2"}, devices) == {}


def test_an_interface_that_no_node_has() -> None:
    listed = ("node:?", "node.interface_names", ("lo", "ens5"))
    assert derived({"NCCL_SOCKET_IFNAME": "eth"}, listed)["nccl.ifname_unmatched"] == ("eth is none of lo ens5",)
    assert derived({"NCCL_SOCKET_IFNAME": "ens"}, listed)["nccl.ifname_unmatched"] == ()


@pytest.mark.parametrize(
    ("setting", "name", "taken"),
    [("eth", "eth1", True), ("=eth", "eth1", False), ("^docker,lo", "eth0", True), ("^=lo", "lo", False)],
)
def test_names_match_as_in_nccl(setting: str, name: str, taken: bool) -> None:
    assert matches(setting, name) is taken


@pytest.mark.parametrize(("text", "number"), [("22", 22), ("0x16", 22), ("026", 22), ("4M", 4), ("on", 0), ("-2", -2)])
def test_numbers_are_read_as_c_reads_them(text: str, number: int) -> None:
    assert as_read(text) == number


def test_hostile_values_cost_nothing() -> None:
    derived({"NCCL_IB_TIMEOUT": "9" * 9999, "NCCL_" + "A" * 9999: "1", "NCCL_IB_HCA": "," * 9999, "NCCL_ALGO": "^;:,"})
