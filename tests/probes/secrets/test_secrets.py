"""Secrets are taken out wherever they stand; what a diagnosis reads is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.secrets import HIDDEN, hide, is_secret, redact, redact_text
from tests.probes.secrets.planted import KEPT, PLANTED


@pytest.mark.parametrize("name", PLANTED)
def test_planted_secrets_are_hidden(name: str) -> None:
    form, secret = PLANTED[name]
    line = form % secret
    told: list[str] = []
    shown = hide(line, lambda kind, found: told.append(found))
    assert secret not in shown and HIDDEN in shown
    assert told
    for part in (secret[:12], secret[-12:]):
        assert len(part) < 12 or part not in shown


@pytest.mark.parametrize("line", KEPT)
def test_what_only_looks_like_one_is_kept(line: str) -> None:
    assert redact_text(line) == line


def test_what_stands_beside_a_secret_is_kept() -> None:
    assert (
        redact_text("python t.py --db-password s3same-open --lr 0.1") == f"python t.py --db-password {HIDDEN} --lr 0.1"
    )
    assert redact_text('{"client_secret": "abc123456", "lr": 0.1}') == f'{{"client_secret": "{HIDDEN}", "lr": 0.1}}'
    assert redact_text("HF_TOKEN=abc123456 torchrun --nnodes 2 t.py") == f"HF_TOKEN={HIDDEN} torchrun --nnodes 2 t.py"


def test_variables_by_name() -> None:
    assert redact("HF_TOKEN", "abc123456") == HIDDEN
    assert redact("http_proxy", "http://bob:pw@proxy:1") == f"http://{HIDDEN}@proxy:1"
    assert redact("NCCL_DEBUG", "INFO") == "INFO"
    secret = "PGPASSWORD AWS_ACCESS_KEY_ID AZURE_CLIENT_SECRET hfToken clientSecret SMTP_PASS SENTRY_DSN private-key HF_TOKEN_2"
    assert [name for name in secret.split() if not is_secret(name)] == []
    plain = "PWD tokenizer pad_token num_tokens NCCL_IB_PKEY kv_channels KEYBOARD author PASSWORD_FILE text_key"
    assert [name for name in plain.split() if is_secret(name)] == []


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_line_is_survived_and_once_is_enough(line: str) -> None:
    line = line.replace("\n", " ")
    assert redact_text(redact_text(line)) == redact_text(line)
