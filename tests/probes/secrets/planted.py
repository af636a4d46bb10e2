"""Lines with made-up secrets. They are put together here, so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64

LETTERS = "aB3dE5gH7jK9mN1pQ4sT6vW8xY2zC0fRbL"
LONG = (LETTERS * 4)[:120]
HEX = "3f8a1c9e5b7d2046" * 4
UPPER = "Q7M2XK4VB6ZN3HT5WJ2CQ7M2XK4VB6ZN3HT5WJ2CQ7M2XK4VB6ZN3HT5WJ2C"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


JWT = f"eyJ{b64('hbGciOiJI')[:14]}.eyJ{b64('zdWIiOiIxMjM0')[:16]}.{LONG[:43]}"
SLACK = "xox" + f"b-123456789012-{LONG[:24]}"
GITHUB = "gh" + "p_" + LONG[:36]

PLANTED: dict[str, tuple[str, str]] = {
    "aws id": ("client id %s used", "AK" + "IA" + UPPER[:16]),
    "aws secret": ("AWS_SECRET_ACCESS_KEY=%s", LONG[:20] + "/+" + LONG[20:38]),
    "aws secret in a file": ("aws_secret_access_key = %s", LONG[:40]),
    "aws session": ("export AWS_SESSION_TOKEN=%s", "IQoJ" + LONG),
    "aws signed url": ("GET https://b.s3.amazonaws.com/ckpt?X-Amz-Signature=%s&x=1", HEX),
    "gcp key": ("using key %s for maps", "AI" + "za" + LONG[:35]),
    "gcp token": ("token ya29: %s", "ya" + "29." + LONG[:60]),
    "gcp service account": ('"private_key": "-----BEGIN PRIVATE KEY-----\\n%s\\n-----END PRIVATE KEY-----\\n",', LONG),
    "gcp client": ("client %s", "GOC" + "SPX-" + LONG[:28]),
    "azure storage": ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=%s;EndpointSuffix=y", LONG[:84] + "=="),
    "azure sas": ("https://x.blob.core.windows.net/c?sv=2022&sig=%s", LONG[:40] + "%3D"),
    "azure client": ("using %s", "abc" + "8Q~" + LONG[:34]),
    "hugging face": ("logging in with %s", "hf" + "_" + LONG[:34]),
    "hugging face short, by name": ("HF_TOKEN=%s", "hf_shortA1"),
    "wandb by name": ("WANDB_API_KEY=%s", HEX[:40]),
    "wandb login": ("+ wandb login %s", HEX[:40]),
    "openai": ("client = OpenAI(%s)", "s" + "k-proj-" + LONG[:60]),
    "anthropic": ("x %s y", "s" + "k-ant-api03-" + LONG[:80]),
    "nvidia": ("ngc %s", "nv" + "api-" + LONG[:64]),
    "github": ("git clone with %s", GITHUB),
    "github fine": ("pip install git+https://%s@github.com/x/y", "github" + "_pat_" + LONG[:60]),
    "gitlab": ("CI uses %s", "gl" + "pat-" + LONG[:20]),
    "slack": ("notify %s", SLACK),
    "slack hook": ("curl https://hooks.slack.com/services/%s", "T0AB12CD3/B0AB12CD3/" + LONG[:24]),
    "npm": ("//registry.npmjs.org/:_authToken=%s", "np" + "m_" + LONG[:34] + "ab"),
    "pypi": ("twine upload -p %s", "py" + "pi-AgEIcHlwaS5vcmc" + LONG[:60]),
    "docker token": ("docker %s", "dc" + "kr_pat_" + LONG[:27]),
    "docker config": ('{"auths": {"reg": {"auth": "%s"}}}', b64("bob:pa55-word-x")),
    "docker login": ("docker login -u bob -p %s reg.example", "Tr0ub4dor"),
    "telegram": ("bot %s", "123456789:" + "AA" + LONG[:33]),
    "stripe": ("pay %s", "s" + "k_live_" + LONG[:24]),
    "sendgrid": ("mail %s", "S" + "G." + LONG[:22] + "." + LONG[:43]),
    "vault": ("vault %s", "hv" + "s." + LONG[:30]),
    "databricks": ("dbx %s", "da" + "pi" + HEX[:32]),
    "jwt": ("kube says %s", JWT),
    "kube token": ("    token: %s", JWT[3:60].replace(".", "")),
    "kube client key": ("    client-key-data: %s", b64("-----BEGIN RSA PRIV" + "ATE KEY-----\n" + LONG)),
    "bearer": ("-H 'Authorization: Bearer %s'", LONG[:32]),
    "bearer in a log": ("sent header bearer %s", LONG[:40]),
    "basic": ("Authorization: Basic %s", b64("bob:pa55-word-x")),
    "cookie": ("Cookie: session=%s; theme=dark", LONG[:30]),
    "set-cookie": ("< Set-Cookie: sid=%s; HttpOnly", LONG[:30]),
    "database": ("postgresql://trainer:%s@db:5432/runs", "p4ss%w0rd!"),
    "redis": ("redis://:%s@cache:6379/0", "s3cr3tRedis"),
    "proxy": ("http_proxy=http://bob:%s@proxy:3128", "hunter2hunter2"),
    "odbc": ("Server=db;User Id=sa;Pwd=%s;Encrypt=yes", "Zx9!kk#Pq"),
    "password with at": ("mysql://root:%s@db/x", "p@ss-w0rd"),
    "flag": ("python train.py --db-password %s --lr 0.1", "s3same-open"),
    "flag with sign": ("python train.py --hub-token=%s --lr 0.1", "qwErty12345"),
    "short flag": ("sshpass -p %s ssh node1", "s3same-open"),
    "mysql": ("mysql -u root -p%s runs", "s3same-open"),
    "curl": ("curl -u %s https://x", "bob:s3same-open"),
    "env password": ("DB_PASSWORD=%s", "correct horse battery staple"),
    "yaml": ("  password: %s", "s3same-open"),
    "json": ('{"client_secret": "%s", "lr": 0.1}', 'with \\" quote 9'),
    "python": ("environ({'MLFLOW_TRACKING_PASSWORD': '%s', 'RANK': '0'})", "s3same-open"),
    "dotted": ("  wandb_api_key ................................... %s", HEX[:40]),
    "netrc": ("machine api.wandb.ai login user password %s", HEX[:40]),
    "pgpass": ("db.example:5432:runs:trainer:%s", "s3same-open"),
    "shadow": ("root:%s:19000:0:99999", "$6" + "$saltsalt$" + LONG[:86]),
    "license": ("LICENSE %s", "AB12C-DE34F-GH56J-KL78M-NP90Q"),
    "license by name": ("TOTALVIEW_LICENSE_KEY=%s", "ZZ-91aa-bb22-cc"),
    "base64 in env": ("JOB_SECRETS_B64X=%s", b64(f"HF_TOKEN={'hf' + '_' + LONG[:34]}\n")),
    "base64 under a plain name": ("SETUP=%s", b64(f"export WANDB_API_KEY={HEX[:40]}\n")),
    "base64 twice": ("SETUP=%s", b64(b64(f"export WANDB_API_KEY={HEX[:40]}\n"))),
    "ssh public key": ("ssh-ed25519 %s", "AAAA" + LONG[:64] + " bob@laptop"),
    "escaped": ("uri postgresql%%3A%%2F%%2Fbob%%3A%s%%40db", "s3same-open"),
}
"""A name, a line with a place for the secret, the secret."""

KEPT = (
    "commit 3f8a1c9e5b7d20463f8a1c9e5b7d20463f8a1c9e",
    "sha256:3f8a1c9e5b7d20463f8a1c9e5b7d20463f8a1c9e5b7d20463f8a1c9e5b7d2046",
    "n1:12:34 [0] NCCL INFO comm 0x55d0a8 rank 0 nranks 8 cudaDev 0 busId 1b000 commId 0x6f3a9be1c2d4e5f7 - Init COMPLETE",
    "iteration 10/ 100 | consumed samples: 80 | lm loss: 1.082344E+01 | grad norm: 1.234 | tokens per second: 12345.6",
    "  moe_token_dispatcher_type ....................... alltoall",
    "  tokenizer_type .................................. GPT2BPETokenizer",
    '{"pad_token_id": 0, "eos_token": "<|endoftext|>", "bos_token": "<s>", "max_tokens": 4096, "key_value_channels": 128}',
    "NCCL_IB_PKEY=0x8001 NCCL_IB_HCA==mlx5_0:1 NCCL_DEBUG=INFO TOKENIZERS_PARALLELISM=false",
    "PWD=/home/x SSH_AUTH_SOCK=/tmp/ssh-x/agent.1 TOKEN_BUCKETS=4",
    "KeyError: 'model.layers.0.self_attn.k_proj.weight'",
    'RuntimeError: Unexpected key(s) in state_dict: "decoder.layers.0.mlp.weight"',
    "--moe-token-dispatcher-type alltoall --tokenizer-model /data/tok --text-key text --json-keys content",
    "--micro-batch-size 4 --global-batch-size 256 -p 8080 --num-tokens 1000000",
    "text_key: content, cache_key=train_0001_abcdef, sort_key: length",
    "init_method=tcp://10.0.0.1:29500 rdzv_endpoint=node1:29400",
    "HF_TOKEN=$HF_TOKEN WANDB_API_KEY=${WANDB_API_KEY} token=None password: null",
    '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _wrapped_call_impl',
    "md5 d41d8cd98f00b204e9800998ecf8427e GPU-5f1b3c2a-1111-2222-3333-abcdefabcdef",
    "GID 0 fe80:0000:0000:0000:ec0d:9a03:0064:2b5e",
    "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 NVIDIA_VISIBLE_DEVICES=all forward pass: 12.3 ms",
    "Got completion from peer 10.0.0.2<4791> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.0.0.1",
    "docker run --gpus all -p 8080:80 image; mysql is not here",
    "c10d store key: default_pg/0//cuda//0 not set",
    "tokenizer = AutoTokenizer.from_pretrained(name, token=args.token)",
    "The token: identifier was unexpected; author: someone; authentic=1",
)
"""Lines that look a little like secrets, and that a diagnosis may need."""
