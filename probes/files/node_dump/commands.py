"""The commands people paste: telling them from what they print."""

from __future__ import annotations

import re

# Commands that print what a reader here understands; a line that is one of them alone starts a new block.
_KNOWN = (
    "nvidia-smi|dcgmi|df|free|lsmod|ulimit|numactl|nproc|lscpu|uname|hostname|getent|ibstat|ibstatus|ibv_devinfo|ibv_devices"
    "|ibdev2netdev|show_gids|rdma|ethtool|ifconfig|route|ip|lspci|ldd|pip3?|conda|uv|env|printenv|export|taskset|top|htop|ps"
    "|sysctl|systemctl|docker|podman|fi_info|mount|ls|cat|grep|modinfo|dmesg|journalctl|ping|nc|ncat|telnet|nslookup|dig|host"
    "|perfquery|mlxlink|ibqueryerrors|amd-smi|prlimit|getconf|gpustat|ib_write_bw|ib_read_bw|ib_send_bw|iperf3?|lsof|virt-what"
    "|systemd-detect-virt|vmstat|mpstat|python3?|which|ofed_info|modprobe|kubectl|findmnt|rocm-smi|crictl"
)
_COMMAND = re.compile(rf"\b(?P<command>(?:{_KNOWN})(?![\w.-])(?: [^:=<>]{{0,120}}?)?)\s*(?:on\s.*)?$")
_BARE = re.compile(
    r"^(?:sudo )?(?:"
    r"nvidia-smi(?: (?:-\S+|topo|nvlink|dmon|pmon|mig|\w+(?:,\w+)*))*"
    r"|df(?: -\w+)?(?: /\S*)*|free(?: -\w+)*|lsmod(?: \| grep .{1,60})?|ulimit -\w+|numactl (?:-H|--hardware|-s|--show)"
    r"|lscpu|nproc|uname -\w+|hostname(?: -\w+)?|ibstat|ibstatus|ibv_devinfo(?: -\S+(?: \w+)?)*|ibdev2netdev|show_gids"
    r"|ip(?: -\S+)* (?:a|addr|address|r|route|l|link|neigh)(?: show)?(?: dev \S+| \S+)?|ifconfig(?: -a| \w+)?|route -n"
    r"|lspci(?: -\w+)*(?: \| .{1,80})?|pip3? (?:list|freeze)(?: \| .{1,60})?|conda list(?: \| .{1,60})?"
    r"|env(?: \| .{1,60})?"
    r"|printenv(?: \| .{1,60})?|(?:sudo )?dmesg(?: -\w+)?(?: \| .{1,80})?|cat /\S+(?: /\S+)*|ls(?: -\w+)* /\S+"
    r"|ethtool(?: -\w)? \w+|ldd /\S+|fi_info(?: -\S+(?: \w+)?)*|systemctl status \S+|sysctl -?[\w.]+|mount"
    r"|top -\S+(?: \S+)*|amd-smi [a-z-]+(?: \S+)*"
    r"|ps (?:aux|-ef|-eo \S+)(?: \| .{1,60})?|getent \w+ \S+|taskset -\w+ \d+"
    r")\s*$"
)
_INLINE = re.compile(
    r"^(?:\$ )?(?P<command>"
    r"(?:lsmod|nproc|free|numactl|ulimit|ib_write_bw|ib_read_bw|ib_send_bw|hostname|lscpu|ibdev2netdev|show_gids|nvidia-smi)"
    r"(?: [^:=>]{1,80}?)?"
    r"|(?:ls|df|cat|getent|taskset|sysctl|ping|nc|ldd|which|uname|ethtool|docker|systemctl|getconf|fi_info|lspci|modprobe)"
    r" [^:=>]{1,100}?)"
    r"\s*(?::|->|=>|=)\s+(?P<output>\S.*)$"
)
# What programs print about themselves before a colon is output, not the name of a command that was run.
_OWN_MESSAGE = re.compile(
    r"command not found|not found$|cannot access|[Ii]nvalid option|usage:|NVIDIA-SMI has failed", re.IGNORECASE
)
_WRAPPER = re.compile(
    r"^(?:sudo(?: -\w+)?|time|watch(?: -\S+(?: [\d.]+)?)*|srun(?: -\S+| --\S+)*|(?:docker|podman) exec(?: -\S+)* \S+"
    r"|kubectl exec(?: -\S+(?: \S+)?)* \S+ --|ssh(?: -\S+(?: \S+=\S+)?)* (?:\w+@)?(?P<host>[\w.-]+))\s+(?=\S)"
)


def strip_wrappers(command: str) -> str:
    """The command that printed the output: without sudo, ssh, watch, `docker exec` and the like."""
    text = command.strip()
    for _ in range(4):
        match = _WRAPPER.match(text)
        if not match:
            break
        text = text[match.end() :].strip("'\"")
    return text


def host_in_command(command: str) -> str:
    """The host that an ssh command runs on, else ""."""
    text = command.strip()
    for _ in range(4):
        match = _WRAPPER.match(text)
        if not match:
            break
        if match["host"]:
            return match["host"]
        text = text[match.end() :]
    return ""


def is_bare_command(text: str) -> bool:
    """Is this line a command alone, pasted without its prompt?"""
    return len(text) < 200 and _BARE.match(text) is not None


def inline_output(text: str) -> tuple[str, str] | None:
    """(command, output) of a note such as `ulimit -n: 1024` or `ls /dev/infiniband -> No such file`."""
    match = _INLINE.match(text) if len(text) < 2000 else None
    if not match or (_OWN_MESSAGE.search(match["output"]) and " " not in match["command"]):
        return None
    return match["command"].strip(), match["output"]


def command_of(title: str) -> str:
    """The known command that a heading such as `=== nvidia-smi topo -m ===` names, else ""."""
    match = _COMMAND.search(title)
    return match["command"].strip() if match else ""
