"""Every Xid code of the catalogue, alone in a kernel log, is told by the rule of its family."""

from __future__ import annotations

import pytest

from doctor.engine.diagnose import diagnose
from doctor.facts.derive import run_derivations
from doctor.facts.model import Event, Source, Value
from doctor.facts.store import FactStore
from doctor.facts.xid_table import FAMILIES, xids
from doctor.rulebase.load import load_rulebase
from doctor.rulebase.model import RuleBase

RULES = {
    "ecc": "HW007",
    "remap": "HW008",
    "bus": "HW009",
    "gsp": "HW011",
    "nvlink": "HW012",
    "application": "HW013",
    "reset": "HW016",
    "recovery": "HW016",
    "engine": "HW017",
    "cleanup": "HW018",
    "note": "HW018",
    "retired": "HW019",
}


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rulebase().base


def roots(base: RuleBase, *codes: int) -> list[str]:
    store = FactStore()
    for line, code in enumerate(codes, 1):
        detail = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)" if code == 154 else "text"
        text = f"NVRM: Xid (PCI:0000:3b:00): {code}, {detail}"
        fields: dict[str, Value] = {"xid": code, "pci": "0000:3b:00", "detail": detail}
        store.add_event(Event("kernel.xid", Source("log", "dmesg.txt", line, text), fields, order=line))
    assert run_derivations(store) == []
    return [finding.rule.id for finding in diagnose(store, base).roots]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_code_alone(base: RuleBase, family: str) -> None:
    told = {code: roots(base, code)[:1] for code, xid in xids().items() if xid.family == family}
    assert told == {code: [RULES[family]] for code in told}


@pytest.mark.parametrize(
    ("codes", "rules"),
    [
        ((48, 63, 171, 45), ["HW007"]),
        ((74, 45, 31), ["HW012"]),
        ((79, 119, 154), ["HW009"]),
        ((79, 74, 45), ["HW009"]),
        ((31, 109, 45), ["HW013"]),
        ((62, 45, 109), ["HW016"]),
        ((13, 69, 43), ["HW013"]),
        ((500,), ["HW019"]),
    ],
)
def test_what_follows_is_no_finding_of_its_own(base: RuleBase, codes: tuple[int, ...], rules: list[str]) -> None:
    assert roots(base, *codes) == rules
