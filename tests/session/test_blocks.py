"""By the block, a text is redacted as it is line by line, only faster; nothing is passed over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.session.blocks import Blocks
from doctor.session.redact import Redactor
from probes.secrets import HIDDEN
from tests.probes.secrets.planted import KEPT, PLANTED

LINES = [form % secret for form, secret in PLANTED.values()]
NAMES = (
    "acme-h100-07:12:34 [0] NCCL INFO Bootstrap : Using eth0:52.14.9.3<0>",
    "peer acme-h100-07.dc.acme.com and acme-h100-12,acme-h100-07_log xacme-h100-07",
    "jdoe@acme-h100-12:~$ python /home/jdoe/train.py  # jdoe@acme.com",
    "USER=jdoe HOSTNAME=acme-h100-12 SLURM_JOB_NODELIST=acme-h100-[07,12],einstein",
    "- name: DB_PASSWORD", "  value: plain-words-here", "- name: X",
    "-----BEGIN RSA PRIV" + "ATE KEY-----", "AAAAB3NzaC1yc2E=", "step 3: loss 2", "DB_PASSWORD=\"first of", "two-lines\"", "2001:4860:1:2:3:4:5:6 up",
)  # fmt: skip


def by_block(text: bytes) -> bytes:
    blocks = Blocks(Redactor())
    return blocks.settle(blocks.stage(text))


def by_line(text: str) -> str:
    redactor = Redactor()
    staged = [redactor.stage(line) for line in text.split("\n")]
    return "\n".join(redactor.settle(line) for line in staged)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*LINES, *KEPT, *NAMES, "", "iteration 3 loss 2.5"]), max_size=12))
def test_blocks_are_redacted_as_lines_are(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert by_block(text.encode()).decode() == by_line(text)


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize(
    "wrap",
    ["{}", "{}\r\n", "12%|#   | 3/9\r{}\r13%|#   | 4/9", "\x1b[32m{}\x1b[0m", "[rank3]: {}", "2026-01-02 03:04:05 {}"],
)
def test_no_planted_secret_gets_through_whatever_the_line_is_wrapped_in(name: str, wrap: str) -> None:
    form, secret = PLANTED[name]
    if not wrap.startswith("{") and name in ("pgpass", "env password"):
        pytest.skip("known by the beginning of its line alone")
    shown = by_block(b"step 1\n" + wrap.format(form % secret).encode() + b"\nstep 2\n")
    assert secret.encode() not in shown and HIDDEN.encode() in shown
    assert shown.startswith(b"step 1\n") and shown.endswith(b"\nstep 2\n")


def test_colours_within_a_token_do_not_save_it() -> None:
    secret = PLANTED["github"][1]
    shown = by_block(f"clone with {secret[:10]}\x1b[1m{secret[10:]}\x1b[0m\n".encode())
    assert shown == f"clone with {HIDDEN}\n".encode()


def test_a_value_of_several_lines_is_hidden_and_the_log_goes_on() -> None:
    text = "DB_PASSWORD='correct horse\nbattery staple'\nstep 7: loss 2\n"
    assert by_block(text.encode()) == f"DB_PASSWORD='{HIDDEN}\n{HIDDEN}'\nstep 7: loss 2\n".encode()
    broken = "DB_PASSWORD='correct horse\n[rank3]: torch.OutOfMemoryError: CUDA out of memory\n"
    assert by_block(broken.encode()).endswith(b"[rank3]: torch.OutOfMemoryError: CUDA out of memory\n")
    block = "password: |\n  correct horse\n  battery\nlr: 0.1\n"
    assert by_block(block.encode()) == f"password: |\n{HIDDEN}\n{HIDDEN}\nlr: 0.1\n".encode()


@pytest.mark.parametrize(
    "text",
    [
        "export HF_TOKEN=\\\n  %s\nafter\n",
        "python t.py --hub-token \\\n   %s \\\n --lr 1\nafter\n",
        "Private-Lines: 1\n%s\nafter\n",
        'SSH_KEY="-----BEGIN OPENSSH PRIV' + "ATE KEY-----\n%s\n-----END OPENSSH PRIV" + 'ATE KEY-----"\nafter\n',
        "-----BEGIN RSA PRIV" + "ATE KEY-----\r\n%s\r\n-----END RSA PRIV" + "ATE KEY-----\r\nafter\n",
        "machine huggingface.co\n  login bob\n  password %s\nafter\n",
        '  {\n    "name": "MLFLOW_PASSWORD",\n    "value": "%s"\n  }\nafter\n',
    ],
)
def test_secrets_that_go_over_lines(text: str) -> None:
    secret = "kD93hGqP0vZxT7mYbN4rWcE8sUiA2oLfJ6"
    shown = by_block((text % secret).encode()).decode()
    assert secret not in shown and shown.endswith("\nafter\n") and shown.count("\n") == text.count("\n")


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    assert by_block(b"\xff\xfe step \x80\nDB_PASSWORD=s3same-open \xff\n").startswith(b"\xff\xfe step \x80\n")


def test_hosts_called_by_a_word_are_renamed_where_only_a_host_stands() -> None:
    lines = "HOSTNAME=training\ntraining:12:34 [0] NCCL INFO x\nbob@training:~$ ls\ntraining step 3\n"
    blocks = Blocks(Redactor(words=("training",)))
    assert blocks.settle(blocks.stage(lines.encode())) == (
        b"HOSTNAME=host-1\nhost-1:12:34 [0] NCCL INFO x\nuser1@host-1:~$ ls\ntraining step 3\n"
    )
    assert by_block(b"HOSTNAME=einstein\nfrom einstein\n") == b"HOSTNAME=host-1\nfrom host-1\n"
