"""Between collecting and writing, secrets are hidden and people and machines renamed, the same throughout."""

from __future__ import annotations

import base64

from doctor.facts.model import Fact, Source
from doctor.session.redact import Redactor
from probes.secrets import HIDDEN
from tests.probes.secrets.planted import KEPT, PLANTED

KEY = [
    "-----BEGIN OPENSSH PRIV" + "ATE KEY-----",
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
    "AAAAB3NzaC1yc2E=",
    "-----END OPENSSH PRIV" + "ATE KEY-----",
]


def redacted(*lines: str, hosts: tuple[str, ...] = (), keep_hosts: bool = False) -> list[str]:
    redactor = Redactor(hosts, keep_hosts)
    staged = [redactor.stage(line) for line in lines]
    return [redactor.settle(line) for line in staged]


def test_a_secret_is_hidden_wherever_it_is_repeated() -> None:
    secret = "s3same-open"
    again = ["connected with s3same-open to db", f"x {base64.b64encode(secret.encode()).decode()} y"]
    found = redacted(*again, f"DB_PASSWORD={secret}")
    assert found == [f"connected with {HIDDEN} to db", f"x {HIDDEN}= y", f"DB_PASSWORD={HIDDEN}"]


def test_a_password_that_is_a_word_does_not_take_the_word_out_of_the_log() -> None:
    assert redacted("PASSWORD=training", "training step 3")[1] == "training step 3"


def test_a_private_key_of_several_lines_keeps_its_number_of_lines() -> None:
    found = redacted("before", *KEY, "iteration 7 loss 2.5")
    assert found[0] == "before" and found[-1] == "iteration 7 loss 2.5" and len(found) == 6
    assert found[2:4] == [HIDDEN, HIDDEN]
    prefixed = redacted(*(f"[rank0]: {line}" for line in KEY))
    assert prefixed[1] == f"[rank0]: {HIDDEN}"


def test_a_log_goes_on_after_a_key_that_breaks_off() -> None:
    assert redacted(KEY[0], KEY[1], "step 7: loss 2.5", "done")[2:] == ["step 7: loss 2.5", "done"]


def test_names_and_values_on_lines_of_their_own() -> None:
    found = redacted("- name: DB_PASSWORD", '  value: "s3same-open"', "- name: NCCL_DEBUG", "  value: INFO")
    assert found == ["- name: DB_PASSWORD", f'  value: "{HIDDEN}"', "- name: NCCL_DEBUG", "  value: INFO"]


def test_users_hosts_mail_and_public_addresses_get_other_names_throughout() -> None:
    lines = (
        "python /home/jdoe/train.py --ckpt /scratch/jdoe/run1  # jdoe@acme.com",
        "acme-h100-07:12:34 [0] NCCL INFO Bootstrap : Using eth0:52.14.9.3<0>",
        "acme-h100-12.dc.acme.com: peer 52.14.9.7 and 10.0.0.3",
        "SLURM_NODELIST=acme-h100-[07,12]",
    )
    found = redacted(*lines, hosts=("acme-h100-07", "acme-h100-12"))
    assert found[0] == "python /home/user1/train.py --ckpt /scratch/user1/run1  # person1@example.com"
    assert found[1] == "host-07:12:34 [0] NCCL INFO Bootstrap : Using eth0:198.18.0.3<0>"
    assert found[2] == "host-12: peer 198.18.0.7 and 10.0.0.3"
    assert found[3] == "SLURM_NODELIST=host-[07,12]"
    assert not [line for line in found if "acme" in line or "jdoe" in line]


def test_hosts_and_addresses_are_kept_on_request() -> None:
    line = "acme-h100-07:12:34 [0] NCCL INFO Using eth0:52.14.9.3<0>"
    assert redacted(line, hosts=("acme-h100-07",), keep_hosts=True) == [line]


def test_what_a_diagnosis_needs_is_kept() -> None:
    further = (
        "nvidia-cublas-cu12==12.4.5.8 nvidia-cudnn-cu12==9.1.0.70",
        "nvidia-cuda-nvrtc-cu12        12.4.127.1",
        "localhost node1 worker-3 rank0 10.0.0.1 192.168.1.4 127.0.0.1 169.254.1.1",
        '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1',
        "0000:17:00.0 00:11:22:33:44:55 fe80::1 12:34:56.789 2026-01-02T03:04:05Z",
    )
    assert redacted(*KEPT, *further) == [*KEPT, *further]


def test_every_planted_secret_is_hidden() -> None:
    whole = "\n".join(redacted(*(form % secret for form, secret in PLANTED.values())))
    assert [name for name, (_, secret) in PLANTED.items() if secret in whole] == []


def test_facts_are_redacted_in_value_entity_and_source() -> None:
    redactor = Redactor(("acme-h100-07",))
    fact = Fact(
        "env.HF_TOKEN", "abc12345", "node:acme-h100-07", Source("dump", "/home/jdoe/env.txt", 3, "HF_TOKEN=abc12345")
    )
    redactor.learn([fact])
    found = redactor.fact(fact)
    assert found.value == HIDDEN and found.entity == "node:host-07"
    assert found.source == Source("dump", "/home/user1/env.txt", 3, f"HF_TOKEN={HIDDEN}")
    assert redactor.fact(Fact("config.lr", 0.1)).value == 0.1
