"""What the Xid messages of each GPU say together."""

from __future__ import annotations

import pytest

from doctor.facts.derive.xid import GIVES, derive
from doctor.facts.model import Event, Fact, Source, Value
from doctor.facts.store import FactStore


def xid(code: int, text: str = "", pci: str = "0000:dc:00", host: str | None = None, cause: int = 0) -> Event:
    line = f"NVRM: Xid (PCI:{pci}): {code}, {text}" + (f" caused by previous Xid {cause}" if cause else "")
    return Event("kernel.xid", Source("log", "dmesg", 1, line), {"xid": cause or code, "pci": pci}, host=host)


def derived(*known: Event | Fact) -> dict[tuple[str, str], Value]:
    facts = [item for item in known if isinstance(item, Fact)]
    found = list(derive(FactStore(facts, [item for item in known if isinstance(item, Event)])))
    assert {fact.name for fact in found} <= set(GIVES)
    assert all(fact.because for fact in found)
    return {(fact.entity.removeprefix("gpu:?/"), fact.name): fact.value for fact in found}


def test_the_first_code_of_a_chain_is_the_one_that_others_name() -> None:
    found = derived(xid(45, "Ch 00000001", cause=149))
    assert found["0000:dc:00", "gpu.xids"] == (149, 45)
    assert found["0000:dc:00", "gpu.xid_first"] == 149
    assert found["0000:dc:00", "gpu.xid_follow_on"] == (45,)


@pytest.mark.parametrize(
    ("codes", "first", "families"),
    [
        ((48, 63, 94, 45), 48, ("ecc",)),
        ((31, 43), 31, ("application",)),
        ((31, 109), 31, ("application",)),
        ((62, 109, 45), 62, ("reset",)),
        ((109,), 109, ("reset",)),
        ((79, 119, 154), 79, ("bus",)),
        ((74, 31, 45), 74, ("nvlink",)),
        ((45,), 45, ("cleanup",)),
        ((63, 48), 63, ("remap", "ecc")),
        ((999,), 999, ("unknown",)),
    ],
)
def test_what_follows_from_an_earlier_code_is_no_fault_of_its_own(
    codes: tuple[int, ...], first: int, families: tuple[str, ...]
) -> None:
    found = derived(*(xid(code) for code in codes))
    assert found["0000:dc:00", "gpu.xid_first"] == first
    assert found["0000:dc:00", "gpu.xid_families"] == families


def test_gpus_are_told_apart() -> None:
    found = derived(xid(48, pci="0000:1b:00"), xid(31, pci="0000:dc:00"))
    assert found["0000:1b:00", "gpu.xid_families"] == ("ecc",)
    assert found["0000:dc:00", "gpu.xid_families"] == ("application",)
    assert found["job", "xid.primary"] == (48, 31)


def test_a_gpu_has_the_number_that_nvidia_smi_gives_it() -> None:
    listed = Fact("gpu.bus_id", "00000000:dc:00.0", "gpu:n1/7", Source("dump", "smi.txt", 3, "GPU 00000000:DC:00.0"))
    assert ("gpu:n1/7", "gpu.xids") in derived(listed, xid(79, host="n1"))
    assert ("gpu:n1/7", "gpu.xids") not in derived(listed, xid(79, host="n2"))


def test_a_gpu_that_does_not_answer_is_one_with_that_of_the_kernel_log() -> None:
    lost = Fact("gpu.unreadable", "GPU is lost", "gpu:n1/0000:dc:00.0", Source("dump", "smi.txt", 1, "GPU is lost"))
    assert ("gpu:n1/0000:dc:00.0", "gpu.xids") in derived(lost, xid(79))
    assert ("1b:00", "gpu.xids") in derived(lost, xid(79, pci="1b:00"))


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("from 0x0 (None) to 0x1 (GPU Reset Required)", "reset"),
        ("from 0x0 (None) to 0x1 (PF FLR)", "reset"),
        ("from 0x0 (None) to 0x2 (Node Reboot Required)", "reboot"),
        ("from 0x0 (None) to 0x2 (OS Reboot)", "reboot"),
        ("from 0x0 (None) to 0x4 (Drain and Reset)", "drain_and_reset"),
        ("from 0x1 (GPU Reset Required) to 0x0 (None)", ""),
    ],
)
def test_the_driver_names_what_the_gpu_needs(text: str, needed: str) -> None:
    found = derived(xid(74), xid(154, f"GPU recovery action changed {text}"))
    assert found["0000:dc:00", "gpu.recovery_needed"] == needed
    assert (needed.upper() in found["job", "xid.actions"]) == bool(needed)  # type: ignore[operator]


def test_nvidia_smi_names_it_too() -> None:
    asked = Fact("gpu.recovery_action", "Drain P2P", "gpu:?/0", Source("dump", "smi.txt", 9, "Recovery"))
    assert derived(asked)["0", "gpu.recovery_needed"] == "drain_p2p"


def test_an_nvlink_error_that_the_catalogue_ignores_is_a_note() -> None:
    ber = xid(149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 04 (0x00000226 0x00000001)")
    down = xid(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 04 (0x004005c6 0x00000000)")
    assert derived(ber)["0000:dc:00", "gpu.xid_families"] == ("note",)
    assert derived(ber, down)["0000:dc:00", "gpu.xid_families"] == ("note", "nvlink")
    assert "RESET_GPU" in derived(down)["job", "xid.actions"]  # type: ignore[operator]


def test_unknown_codes_are_listed() -> None:
    assert derived(xid(999), xid(48))["job", "xid.unknown"] == (999,)


def test_a_driver_that_says_nothing_gives_nothing() -> None:
    assert derived() == {}
