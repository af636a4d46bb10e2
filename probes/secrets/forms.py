"""Secrets that are known by their form: tokens with a prefix of their issuer, and places where only a secret stands.

The prefixes are general knowledge of the issuers' formats; they were not looked up one by one.
"""

from __future__ import annotations

import re

_END = r"(?![\w-])"
_HEADER = r"\bAuthorization[\"']?\s*[:=]\s*[\"']?"
_CLIENT = r"\b(?:sshpass|mysql\w*|mariadb\w*|(?:docker|podman|helm registry|oras) login|twine|mongo\w*|ldap\w+)"
_SECRET = r"[\w.-]*(?i:key|token|secret|password|passwd|pass|credentials?)"

FORMS: tuple[tuple[str, str], ...] = (
    # clouds
    ("aws key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    ("aws signature", r"X-(?:Amz|Goog)-(?:Signature|Security-Token|Credential)=(?P<s>[^&\s\"']+)"),
    ("gcp key", r"\bAIza[\w-]{35}" + _END),
    ("gcp token", r"\bya29\.[\w.-]{20,}"),
    ("gcp client secret", r"\bGOCSPX-[\w-]{20,}"),
    ("azure key", r"\b(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/=]{20,})"),
    ("azure signature", r"[?&;]sig=(?P<s>[\w%+/=-]{20,})"),
    ("azure client secret", r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{31,34}"),
    ("digitalocean token", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    ("alibaba key", r"\bLTAI[A-Za-z0-9]{12,26}\b"),
    ("tencent key", r"\bAKID[A-Za-z0-9]{13,40}\b"),
    # models and experiments
    ("huggingface token", r"\b(?:hf_|api_org_)[A-Za-z0-9]{30,}\b"),
    ("wandb key", r"\bwandb_v\d_\w{20,}|\bwandb login (?:--\S+ )*(?P<s>[0-9a-f]{40})\b"),
    ("anthropic key", r"\bsk-ant-[\w-]{20,}"),
    ("openai key", r"\bsk-(?!ant-)(?:[a-z]+-)?(?=[\w-]{0,60}\d)[\w-]{20,}"),
    ("nvidia key", r"\bnvapi-[\w-]{40,}"),
    ("replicate token", r"\br8_[A-Za-z0-9]{30,}\b"),
    ("groq key", r"\bgsk_[A-Za-z0-9]{40,}\b"),
    ("databricks token", r"\bdapi[0-9a-f]{32}(?:-\d)?\b"),
    ("xai key", r"\bxai-[A-Za-z0-9]{40,}\b"),
    ("fireworks key", r"\bfw_[A-Za-z0-9]{20,}\b"),
    ("login in code", r"\blogin\((?:[^)\n]{0,200}?\b(?:key|token|password)\s*=\s*)?[\"'](?P<s>[^\"'\n]{12,})[\"']"),
    # code and packages
    ("github token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_\w{22,}"),
    ("gitlab token", r"\bgl(?:pat|ptt|dt|rt|cbt|agent|oas|soat|ft|imt|ffct)-[\w.-]{20,}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi token", r"\bpypi-[\w-]{50,}"),
    ("docker token", r"\bdckr_(?:pat|oat)_[\w-]{20,}"),
    ("docker login", r"\"(?:auth|identitytoken)\"\s*:\s*\"(?P<s>[A-Za-z0-9+/=_.-]{8,})\""),
    ("postman key", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b"),
    ("supabase token", r"\bsbp_[0-9a-f]{40}\b"),
    ("doppler token", r"\bdp\.(?:pt|st|ct|scim|audit)\.[\w-]{36,}"),
    # services
    ("slack token", r"\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{20,}"),
    ("slack webhook", r"hooks\.slack\.com/(?:services|workflows)/(?P<s>[\w/]{20,})"),
    ("discord webhook", r"discord(?:app)?\.com/api/webhooks/(?P<s>\d+/[\w-]{30,})"),
    ("bot webhook", r"/open-apis/bot/v2/hook/(?P<s>[\w-]{20,})|cgi-bin/webhook/send\?key=(?P<t>[\w-]{20,})"),
    ("teams webhook", r"\bwebhook\.office\.com/webhookb2/(?P<s>\S{20,})"),
    ("linear key", r"\blin_api_[A-Za-z0-9]{30,}\b"),
    ("notion token", r"\b(?:secret|ntn)_[A-Za-z0-9]{40,}\b"),
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
    ("munge", r"\bMUNGE:(?P<s>[A-Za-z0-9+/=]{20,}):"),
    ("x11 cookie", r"\bMIT-MAGIC-COOKIE-1\s+(?P<s>[0-9a-f]{16,})"),
    ("xml", r"<(?i:password|passwd|passphrase|secret|token|api[_-]?key)>(?P<s>[^<\n]{3,})</"),
    ("named entry", rf"\"name\"\s*:\s*\"{_SECRET}\"\s*,\s*\"value\"\s*:\s*\"(?P<s>(?:[^\"\\]|\\.)+)\""),
    ("named entry", rf"\"value\"\s*:\s*\"(?P<s>(?:[^\"\\]|\\.)+)\"\s*,\s*\"name\"\s*:\s*\"{_SECRET}\""),
    ("said", r"(?i:\bpassword|\bpasswd|\bpassphrase)\s+(?:for\s+\S{1,60}\s*:|is:?)\s+(?P<s>(?=\S{0,40}\d)\S{6,})"),
    ("said", r"(?:密码|口令|密钥)\s*(?::|=|：|是|为)\s*(?P<s>[^\s,]{4,})"),
    # command lines and files of logins
    ("command line", rf"\bset(?:env|\s+-g?x)\s+{_SECRET}\s+(?P<s>\S+)"),
    ("command line", r"\b(?:swanlab|wandb|comet|neptune|clearml) login\b[^|;\n]{0,100}?\s-k[ =](?P<s>\S+)"),
    ("cookie file", r"\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t(?P<s>[^\t\n]+)"),
    ("command line", _CLIENT + r"\b[^|;\n]{0,200}?\s-[pw] ?(?P<s>[^\s-]\S*)"),
    ("command line", r"\bredis-cli\b[^|;\n]{0,200}?\s-a\s+(?P<s>\S+)"),
    ("command line", r"\b(?:curl|wget|http)\b[^|;\n]{0,400}?\s(?:-u|--user)[ =]?[\"']?(?P<s>[^\s:\"']+:[^\s\"']+)"),
    ("netrc", r"\blogin\s+\S+\s+password\s+(?P<s>\S+)|^\s*password\s+(?P<t>\S+)\s*$"),
    ("pgpass", r"^[\w.*-]+:(?:\d{4,5}|\*):[\w*-]+:[\w*-]+:(?P<s>\S{4,})$"),
    ("sql login", r"\b(?i:identified\s+by|with\s+password)\s+[\"'](?P<s>[^\"']+)[\"']"),
)  # fmt: skip
"""Kind and pattern; the group `s` or `t` is what is secret, else the whole of it. All are of one line;
classes hold ASCII alone, since the sieve reads bytes."""

COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in FORMS)
