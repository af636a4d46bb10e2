"""Secrets that are known by their form: tokens with a prefix of their issuer, and places where only a secret stands.

The prefixes are general knowledge of the issuers' formats; they were not looked up one by one.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_END = r"(?![\w-])"
_HEADER = r"\bAuthorization[\"']?\s*[:=]\s*[\"']?"
_CLIENT = r"\b(?:sshpass|mysql\w*|mariadb\w*|(?:docker|podman|helm registry|oras) login|twine|mongo\w*|ldap\w+)"

FORMS: tuple[tuple[str, str], ...] = (
    # clouds
    ("aws key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    ("aws signature", r"X-Amz-(?:Signature|Security-Token|Credential)=(?P<s>[^&\s\"']+)"),
    ("gcp key", r"\bAIza[\w-]{35}" + _END),
    ("gcp token", r"\bya29\.[\w.-]{20,}"),
    ("gcp client secret", r"\bGOCSPX-[\w-]{20,}"),
    ("azure key", r"\b(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/=]{20,})"),
    ("azure signature", r"[?&;]sig=(?P<s>[\w%+/=-]{20,})"),
    ("azure client secret", r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{31,34}"),
    ("digitalocean token", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    # models and experiments
    ("huggingface token", r"\b(?:hf_|api_org_)[A-Za-z0-9]{30,}\b"),
    ("wandb key", r"\bwandb_v\d_\w{20,}|\bwandb login (?:--\S+ )*(?P<s>[0-9a-f]{40})\b"),
    ("anthropic key", r"\bsk-ant-[\w-]{20,}"),
    ("openai key", r"\bsk-(?!ant-)(?:[a-z]+-)?(?=[\w-]{0,60}\d)[\w-]{20,}"),
    ("nvidia key", r"\bnvapi-[\w-]{40,}"),
    ("replicate token", r"\br8_[A-Za-z0-9]{30,}\b"),
    ("groq key", r"\bgsk_[A-Za-z0-9]{40,}\b"),
    ("databricks token", r"\bdapi[0-9a-f]{32}(?:-\d)?\b"),
    # code and packages
    ("github token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_\w{22,}"),
    ("gitlab token", r"\bgl(?:pat|ptt|dt|rt|cbt|agent|oas|soat|ft|imt|ffct)-[\w.-]{20,}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi token", r"\bpypi-[\w-]{50,}"),
    ("docker token", r"\bdckr_(?:pat|oat)_[\w-]{20,}"),
    ("docker login", r"\"(?:auth|identitytoken)\"\s*:\s*\"(?P<s>[A-Za-z0-9+/=_.-]{8,})\""),
    # services
    ("slack token", r"\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{20,}"),
    ("slack webhook", r"hooks\.slack\.com/(?:services|workflows)/(?P<s>[\w/]{20,})"),
    ("discord webhook", r"discord(?:app)?\.com/api/webhooks/(?P<s>\d+/[\w-]{30,})"),
    ("telegram token", r"\b\d{8,10}:AA[\w-]{33}" + _END),
    ("stripe key", r"\b(?:sk|rk|whsec)_(?:live|test)?_?[A-Za-z0-9]{24,}\b"),
    ("sendgrid key", r"\bSG\.[\w-]{22}\.[\w-]{43}"),
    ("vault token", r"\bhv[sbr]\.[\w-]{24,}"),
    ("terraform token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    ("tailscale key", r"\btskey-[a-z]+-[\w-]{20,}"),
    ("age key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    # protocols
    ("jwt", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?"),
    ("authorization", _HEADER + r"(?:(?:Bearer|Basic|Token|Digest|Negotiate)\s+)?(?P<s>[^\s\"',]{6,})"),
    ("bearer", r"\b[Bb]earer\s+(?P<s>(?=[\w.~+/-]{0,60}\d)[\w.~+/-]{12,}=*)"),
    ("cookie", r"\b(?:Set-)?Cookie[\"']?\s*:\s*[\"']?(?P<s>[^\"'\r\n]+)"),
    ("api key header", r"\bX-(?:Api|Auth|Vault|Gitlab|Goog-Api)-?(?:Key|Token)?[\"']?\s*:\s*[\"']?(?P<s>[^\s\"',]+)"),
    ("password in url", r"\b[A-Za-z][\w+.-]{1,20}://(?P<s>[^/@\s:\"']*:[^/\s\"'@]+(?:@[^/\s\"'@]+)*)@"),
    ("token in url", r"\bhttps?://(?P<s>[\w-]{20,})@"),
    ("database login", r"\b(?:Pwd|Password)\s*=\s*(?P<s>[^;\s\"']{3,})(?=;|\"|'|\s|$)"),
    ("password hash", r"\$(?:2[aby]|5|6|y|argon2(?:id|i|d)|apr1)\$[\w./$=,+-]{20,}"),
    ("ssh public key", r"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+) (?P<s>AAAA[A-Za-z0-9+/=]{30,}(?: \S+@\S+)?)"),
    ("private key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?P<s>.+?)(?:-----END|$)"),
    ("license key", r"\b(?=[A-Z0-9-]{0,28}\d)(?=[A-Z0-9-]{0,28}[A-Z])[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}\b"),
    # command lines and files of logins
    ("command line", _CLIENT + r"\b[^|;\n]{0,200}?\s-[pw] ?(?P<s>[^\s-]\S*)"),
    ("command line", r"\bredis-cli\b[^|;\n]{0,200}?\s-a\s+(?P<s>\S+)"),
    ("command line", r"\b(?:curl|wget|http)\b[^|;\n]{0,400}?\s(?:-u|--user)[ =]?[\"']?(?P<s>[^\s:\"']+:[^\s\"']+)"),
    ("netrc", r"(?:\blogin\s+\S+\s+|^\s*)password\s+(?P<s>\S+)\s*$"),
    ("pgpass", r"^[\w.*-]+:(?:\d{4,5}|\*):[\w*-]+:[\w*-]+:(?P<s>\S{4,})$"),
    ("sql login", r"\b(?i:identified\s+by|with\s+password)\s+[\"'](?P<s>[^\"']+)[\"']"),
)  # fmt: skip
"""Kind and pattern; the group `s` is what is secret, else the whole of it. All are of one line."""

COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in FORMS)

_HINT = (
    r"AKIA|ASIA|ABIA|ACCA|X-|AIza|ya29|GOCSPX|Key=|sig=|8Q~|_v1_|hf_|api_org_|wandb|sk-|nvapi|r8_|gsk_|dapi|gh[pousr]_"
    r"|github_pat|gl[a-z]{2,5}-|npm_|pypi-|dckr_|\"auth|identitytoken|xox|xapp|hooks|:AA|[sr]k_|whsec|SG\.|hv[sbr]\."
    r"|atlasv1|tskey|AGE-|eyJ|uthorization|earer|ookie|://|Pwd|Password|\$[256ya]|AAAA|PRIVATE|[A-Z0-9]{5}-[A-Z0-9]{5}-"
    r"|sshpass|mysql|mariadb|login|twine|mongo|ldap|redis-cli|curl|wget|http|password|\A[\w.*-]+:(?:\d{4,5}|\*):"
    r"|(?i:identified|with password)"
)
"""What a line has if any of the patterns finds something: most lines of a log have none of it."""


_NAME_HINT = r"(?i)pass|pwd|secret|token|key|credential|auth|cookie|_dsn|_pat\b|signature|_sas\b"
"""What a line has if it names a secret."""


def may_hold(line: str) -> bool:
    """Can any of the patterns find something in the line? RE2 tells it ten times as fast as they do."""
    return _found(_HINT, line)


def may_name(line: str) -> bool:
    """Can the line hold the name of a secret?"""
    return _found(_NAME_HINT, line)


def _found(hint: str, line: str) -> bool:
    try:
        return _compiled(hint).search(line) is not None
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return True


@cache
def _compiled(hint: str) -> Any:
    import re2

    return re2.compile(hint)
