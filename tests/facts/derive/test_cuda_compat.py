"""Is the driver new enough for the CUDA of the job?"""

from __future__ import annotations

import pytest

from doctor.facts.derive.cuda_compat import FAMILIES, GIVES, derive, toolkit_drivers
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore


def derived(driver: str, torch: str = "", build: str = "") -> dict[str, Value]:
    facts = [Fact("node.driver_version", driver, "node:n1", Source("dump", "smi.txt", 1, driver))]
    if torch:
        facts.append(Fact("pip.torch", torch, "job", Source("dump", "pip.txt", 1, torch)))
    if build:
        facts.append(Fact("node.cuda_build", build, "node:n1", Source("dump", "env.txt", 1, build)))
    found = list(derive(FactStore(facts)))
    assert {fact.name for fact in found} <= set(GIVES)
    return {fact.name: fact.value for fact in found}


def test_a_driver_of_an_older_family_names_the_least_one() -> None:
    assert derived("515.65.01", "2.4.0+cu121") == {
        "node.driver_insufficient": "driver 515.65.01, CUDA 12.1 needs 525.60.13 or later"
    }
    assert "580.65.06" in str(derived("535.129.03", build="13.0")["node.driver_insufficient"])


def test_a_driver_of_the_family_runs_a_later_toolkit_with_less() -> None:
    assert set(derived("535.129.03", "2.6.0+cu126")) == {"node.driver_below_toolkit"}


@pytest.mark.parametrize(
    ("driver", "torch"), [("550.54.14", "2.4.0+cu124"), ("580.95.05", "2.1.0+cu118"), ("x", "2.4.0+cu124")]
)
def test_a_newer_driver_is_well(driver: str, torch: str) -> None:
    assert derived(driver, torch) == {}


def test_a_build_for_the_cpu_needs_none() -> None:
    assert derived("470.57.02", "2.4.0+cpu") == {}


def test_the_table_has_each_family() -> None:
    assert toolkit_drivers()["12.0"] == FAMILIES[12] and toolkit_drivers()["13.0"] == FAMILIES[13]
