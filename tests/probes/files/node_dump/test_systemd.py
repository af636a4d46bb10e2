"""Services."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

FAILED = """\
● nvidia-fabricmanager.service - NVIDIA fabric manager service
     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)
     Active: failed (Result: exit-code) since Mon 2026-01-05 10:00:00 UTC; 2h ago
fabric manager NVIDIA GPU driver interface version 535.129.03 don't match with driver version 535.161.07. Please update
"""


def test_a_failed_service_and_its_version() -> None:
    found = node(FAILED)
    assert found["node.fabric_manager"] == "failed"
    assert found["node.fabric_manager_version"] == "535.129.03"
    assert found["node.driver_version"] == "535.161.07"


def test_a_unit_that_is_not_there() -> None:
    assert node("Unit nvidia-fabricmanager.service could not be found.\n") == {"node.fabric_manager": "not-installed"}


def test_short_answers() -> None:
    assert node("$ systemctl is-active nvidia-fabricmanager\ninactive\n") == {"node.fabric_manager": "inactive"}
    assert node("nvidia-fabricmanager: inactive\n") == {"node.fabric_manager": "inactive"}
    assert node("$ sudo ufw status\nStatus: active\n") == {"node.firewall": "ufw active"}


def test_a_note_and_a_list_of_units() -> None:
    assert node("systemctl status nvidia-fabricmanager -> inactive (dead)\n") == {"node.fabric_manager": "inactive"}
    text = "  nvidia-fabricmanager.service  loaded failed failed  NVIDIA fabric manager service\n"
    assert node(text) == {"node.fabric_manager": "failed"}


def test_the_package() -> None:
    assert node("ii  nvidia-fabricmanager-535   535.104.05-1   amd64\n")["node.fabric_manager_version"] == "535.104.05"


def test_another_service_and_a_job_status_are_none() -> None:
    assert kinds("● sshd.service - OpenSSH\n   Active: active (running)\nStatus: active users 3\n") == ()


def test_damage() -> None:
    survives(FAILED)
