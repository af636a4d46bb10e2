"""The host that a file's name or folder speaks of."""

from __future__ import annotations

import re

# What a dump's file is called after the host: node-2_hosts.txt, cn042-nvidia-smi-q.log.
_DUMP_WORDS = (
    "nvidia[-_]?smi(?:[-_](?:q|l|topo|nvlink|dmon|table|csv))?|smi|topo|topology|hosts|etc[-_]hosts|df|shm|env|environ|environment"
    "|printenv|dmesg|kernel|kern|journal|ip[-_]?(?:a|addr|route|link)?|ifconfig|interfaces|routes?|ibstat(?:us)?|ibv[-_]devinfo|ib"
    "|show[-_]gids|gids|lspci|acs|pci|ulimit|limits|pip(?:[-_](?:list|freeze))?|freeze|packages|conda|docker(?:[-_]inspect)?|inspect"
    "|ldd|lsmod|modules|free|mem(?:info|ory)?|top|ps|nvlink|systemctl|fabric[-_]?manager|fm|sysctl|params|numactl|numa|ethtool|lscpu"
    "|cpu|ping|dns|nc|nccl[-_]tests?|ib[-_]write[-_]bw|perftest|fi[-_]info|collect[-_]env|versions?|info|dump|facts|network|limits\\.conf"
)
_DIRECT = r"(?:node|host|worker|server|machine|master|compute|dgx|hgx|vm|ip|n|cn|gn|gpunode)"
_NAMED = re.compile(
    rf"^(?P<host>{_DIRECT}[-_]?(?:\d[\w-]*?|[A-Za-z]))(?=$|[-_.](?:{_DUMP_WORDS})?(?:$|[-_.])|[-_.][a-z])",
    re.IGNORECASE,
)
_PREFIXED = re.compile(rf"^(?P<host>[A-Za-z][A-Za-z0-9-]*\d[A-Za-z0-9-]*)[-_.](?:{_DUMP_WORDS})$", re.IGNORECASE)
_FOLDER = re.compile(rf"^(?:{_DIRECT}[-_]?(?:\d[\w-]*|[A-Za-z])|(?:node|host)[-_=]\S+)$", re.IGNORECASE)
_NOT_A_HOST = re.compile(
    r"^(?:rank|run|job|step|gpu|cuda|torch|nccl|exp|test|py|before|after|stage|phase|part|attempt|trial|v|iter|epoch|cluster|ds|deepspeed|h|a|b|tp|pp|dp)"
    r"[-_]?\d+$",
    re.IGNORECASE,
)


def host_of_path(name: str) -> str:
    """The host in `node-2_hosts.txt` or `node1/df.txt`, else ""."""
    *folders, last = name.replace("\\", "/").split("/")
    stem = re.sub(r"(?:\.(?:txt|log|out|csv|json|dump|gz|zst|md))+$", "", last, flags=re.IGNORECASE)
    for pattern in (_NAMED, _PREFIXED):
        match = pattern.match(stem)
        if match and not _NOT_A_HOST.match(match["host"]):
            return match["host"]
    for folder in reversed(folders):
        if _FOLDER.match(folder) and not _NOT_A_HOST.match(folder):
            return folder
    return ""
