"""How a container was started: `docker inspect`, and docker or podman run with its options."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping

from doctor.facts.model import Fact
from probes.files.node_dump.readers.environment import variable
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import limit, size

KIND = "docker"
MARKS = ("docker run", "podman run", "nerdctl run", "docker create", "HostConfig", "ShmSize", "nvidia-docker run")

_RUN = re.compile(r"\b(?:docker|podman|nerdctl|nvidia-docker)\s+(?:container\s+)?(?:run|create)\b(?P<rest>.*)$")
_FIELD = re.compile(
    r'^\s*"(?P<key>ShmSize|IpcMode|NetworkMode|Privileged|Runtime|CpusetCpus|Memory)":\s*(?P<value>"[^"]*"|[\w.-]+),?\s*$'
)
_DEFAULT_SHM = 64 << 20
_MEANING = {
    "--shm-size": "shm",
    "--ipc": "ipc",
    "--network": "network",
    "--net": "network",
    "--gpus": "gpus",
    "--device": "device",
    "--ulimit": "ulimit",
    "--cap-add": "capability",
    "-e": "env",
    "--env": "env",
    "-m": "memory",
    "--memory": "memory",
    "--cpuset-cpus": "cpuset",
    "--runtime": "runtime",
}
# Further options that take a value, so that the value is not taken for the image.
_OTHER = frozenset(
    (
        *(
            "-v",
            "--volume",
            "--mount",
            "-p",
            "--publish",
            "-w",
            "--workdir",
            "--name",
            "-h",
            "--hostname",
            "-u",
            "--user",
        ),
        *(
            "--entrypoint",
            "--env-file",
            "--label",
            "-l",
            "--restart",
            "--security-opt",
            "--add-host",
            "--cpus",
            "--pid",
        ),
        *(
            "--log-driver",
            "--log-opt",
            "--group-add",
            "--pull",
            "--platform",
            "--dns",
            "--tmpfs",
            "--cgroupns",
            "--uts",
        ),
        *("--annotation", "-c", "--cpu-shares", "--memory-swap", "--stop-timeout", "--cidfile", "--userns", "--sysctl"),
        *("--cap-drop", "--device-cgroup-rule"),
    )
)
_MOST_JSON = 4 << 20


def recognise(block: Block) -> list[Block]:
    found = [block.part(command) for command in _commands(block)]
    if any(_FIELD.match(line.text) or '"HostConfig"' in line.text for line in block.lines):
        found.append(block)
    return found


def _commands(block: Block) -> Iterator[list[Line]]:
    """Lines of each run command, those joined by a backslash together. A comment or a usage text is none."""
    lines = iter(block.lines)
    if block.command and _RUN.search(block.command) and not block.lines:
        return
    for line in lines:
        if not _RUN.search(line.text) or line.text.lstrip().startswith(("#", "Usage", "usage")):
            continue
        command = [line]
        while command[-1].text.endswith("\\") and len(command) < 200 and (following := next(lines, None)):
            command.append(following)
        yield command


def read(section: Block) -> Iterator[Fact]:
    first = section.lines[0]
    if match := _RUN.search(first.text):
        text = "\n".join([match["rest"], *(line.text for line in section.lines[1:])]).replace("\\\n", " ")
        yield from _options(section, first, _words(text))
    else:
        yield from _inspect(section)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _options(section: Block, line: Line, words: list[str]) -> Iterator[Fact]:
    given: dict[str, list[str]] = {}
    queue = list(reversed(words[:500]))
    image = ""
    while queue:
        word = queue.pop()
        name, equals, value = word.partition("=")
        if name == "--privileged":
            given["privileged"] = [value or "true"]
        elif name in _MEANING or name in _OTHER:
            value = value if equals else queue.pop() if queue else ""
            given.setdefault(_MEANING.get(name, ""), []).append(value)
        elif not word.startswith("-"):
            image = word
            break
    if image and not image.startswith(("$", "<")):
        yield section.fact("container.image", image, line)
    for assignment in given.get("env", ()):
        name, equals, value = assignment.partition("=")
        if equals:
            yield from variable(section, line, name, value)
    last = {key: values[-1] for key, values in given.items()}
    limits = {name: value for name, _, value in (text.partition("=") for text in given.get("ulimit", ()))}
    yield from _facts(section, line, last, given.get("device", []), given.get("capability", []), limits)


def _facts(
    section: Block,
    line: Line,
    last: Mapping[str, str],
    devices: list[str],
    capabilities: list[str],
    limits: Mapping[str, str],
) -> Iterator[Fact]:
    ipc = last.get("ipc", "")
    shm = size(last["shm"]) if "shm" in last else None
    if shm is not None or (ipc not in ("host",) and not ipc.startswith("container:")):
        # Without --shm-size and the host's IPC namespace docker mounts 64 MiB (docker run reference, --shm-size).
        yield section.fact("container.shm_size", _DEFAULT_SHM if shm is None else shm, line)
    privileged = last.get("privileged", "").lower() == "true"
    for key in ("ipc", "network", "gpus", "cpuset", "runtime"):
        if last.get(key):
            yield section.fact(f"container.{key}", last[key], line)
    yield section.fact("container.privileged", privileged, line)
    yield section.fact("container.devices", tuple(devices), line)
    yield section.fact(
        "container.infiniband", privileged or any("/dev/infiniband" in device for device in devices), line
    )
    if capabilities:
        yield section.fact("container.capabilities", tuple(capabilities), line)
    memlock = limit(limits.get("memlock", "").split(":")[0])
    if memlock is not None:
        yield section.fact("container.memlock", memlock, line)
    memory = size(last.get("memory", ""))
    if memory:
        yield section.fact("container.memory_limit", memory, line)


def _inspect(section: Block) -> Iterator[Fact]:
    text = "\n".join(line.text for line in section.lines)
    start = min((position for position in (text.find("["), text.find("{")) if position >= 0), default=0)
    try:
        document = json.JSONDecoder().raw_decode(text[start : start + _MOST_JSON])[0]
    except ValueError:
        yield from _fragment(section)
        return
    entries = document if isinstance(document, list) else [document]
    for entry in entries[:64]:
        if isinstance(entry, dict) and isinstance(entry.get("HostConfig"), dict):
            yield from _container(section, entry, entry["HostConfig"])


def _container(section: Block, entry: Mapping[str, object], config: Mapping[str, object]) -> Iterator[Fact]:
    def line(key: str) -> Line:
        return next((found for found in section.lines if f'"{key}"' in found.text), section.lines[0])

    devices = [
        str(d.get("PathInContainer") or d.get("PathOnHost")) for d in _list(config, "Devices") if isinstance(d, dict)
    ]
    limits = {str(u.get("Name")): str(u.get("Soft")) for u in _list(config, "Ulimits") if isinstance(u, dict)}
    last = {
        "shm": str(config.get("ShmSize") or ""),
        "ipc": str(config.get("IpcMode") or ""),
        "network": str(config.get("NetworkMode") or ""),
        "privileged": str(config.get("Privileged") or ""),
        "cpuset": str(config.get("CpusetCpus") or ""),
        "runtime": str(config.get("Runtime") or ""),
        "memory": str(config.get("Memory") or ""),
    }
    capabilities = [str(name) for name in _list(config, "CapAdd")]
    yield from _facts(section, line("HostConfig"), last, devices, capabilities, limits)
    inner = entry.get("Config")
    if isinstance(inner, dict):
        if isinstance(inner.get("Image"), str):
            yield section.fact("container.image", inner["Image"], line("Image"))
        for assignment in _list(inner, "Env"):
            name, equals, value = str(assignment).partition("=")
            if equals:
                yield from variable(section, line("Env"), name, value)


def _list(mapping: Mapping[str, object], key: str) -> list[object]:
    value = mapping.get(key)
    return value if isinstance(value, list) else []


def _fragment(section: Block) -> Iterator[Fact]:
    """Lines of an inspect output that is cut or was searched with grep."""
    names = {
        "IpcMode": "container.ipc",
        "NetworkMode": "container.network",
        "Runtime": "container.runtime",
        "CpusetCpus": "container.cpuset",
    }
    for line in section.lines:
        match = _FIELD.match(line.text)
        if not match:
            continue
        value = match["value"].strip('"')
        if match["key"] in names and value:
            yield section.fact(names[match["key"]], value, line)
        elif match["key"] == "Privileged":
            yield section.fact("container.privileged", value == "true", line)
        elif (amount := size(value)) is not None and (amount or match["key"] == "ShmSize"):
            yield section.fact(
                "container.shm_size" if match["key"] == "ShmSize" else "container.memory_limit", amount, line
            )
