"""What NCCL's variables as set for the job say: names and values that have no effect, leftovers, ranks that differ.

How NCCL reads a value is in its src/misc/param.cc and src/graph/topo.cc: a number is what `strtoll` makes of its
beginning, so `true` is 0 and `4M` is 4; a level is one of its own words or a legacy digit.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from doctor.facts.derive.network_lines import SHOWN, derived, host_of, version
from doctor.facts.model import Fact, Source
from doctor.facts.nccl_table import OTHERS, Variable, suggestion, variables
from doctor.facts.store import FactStore

NEEDS = ("event:nccl.env", "nccl.version", "gpu.name", "event:gpu.geforce", "node.ib_devices", "node.interface_names")
DANGERS = {
    "transport": "nccl.env_transport_off",
    "feature": "nccl.env_feature_off",
    "pinned": "nccl.env_pinned",
    "debug": "nccl.env_debug",
}
JUDGED = (
    *("nccl.env_misspelt", "nccl.env_unknown", "nccl.env_invalid", "nccl.env_outdated", "nccl.env_too_new"),
    *(name + ending for name in DANGERS.values() for ending in ("", "_zh")),
)
GIVES = (*JUDGED, "nccl.env_differs", "nccl.env_ambiguous", "nccl.ifname_unmatched")

NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)$")
LEADING = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|\d+)")
LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
"""NCCL's words for distances (src/graph/topo.h); nvidia-smi's NODE is none of them."""
ALGOS = ("tree", "ring", "collnetdirect", "collnetchain", "collnet", "nvls", "nvlstree", "pat")
PROTOS = ("ll", "ll128", "simple")
SUBSYSTEMS = (
    *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "CALL", "PROXY", "NVLS", "BOOTSTRAP"),
    *("REG", "PROFILE", "RAS", "DESTROY", "ALL", "VERSION"),
)
MAX_SHOWN = 60

Found = dict[str, list[tuple[str, Source]]]


def derive(store: FactStore) -> Iterator[Fact]:
    settings = _settings(store)
    if not settings:
        return
    found: Found = defaultdict(list)
    lowest = store.get("nccl.version")
    seen = version(str(lowest.value)) if lowest else ()
    for name, values in settings.items():
        for value, source in list(values.items())[:4]:
            _judge(found, store, name, value, source, seen)
    for name in JUDGED:
        if found[name]:
            yield derived(name, tuple(text for text, _ in found[name])[:SHOWN], sources=[s for _, s in found[name]])
    yield from _differs(store)
    yield from _ambiguous(store, settings)
    yield from _unmatched(store, settings)


def _settings(store: FactStore) -> Mapping[str, dict[str, Source]]:
    """Each NCCL variable with its values and where each was first read."""
    settings: dict[str, dict[str, Source]] = defaultdict(dict)
    for key in sorted(store.names()):
        name = key.removeprefix("env.")
        if name != key and (name in variables() or suggestion(name) or name.startswith("NCCL_")):
            for fact in store.every(key):
                settings[name].setdefault(str(fact.value), fact.source)
    return settings


def _judge(found: Found, store: FactStore, name: str, value: str, source: Source, seen: tuple[int, ...]) -> None:
    shown = f"{name}={value[:MAX_SHOWN]}"
    variable = variables().get(name)
    if variable is None:
        if meant := suggestion(name):
            found["nccl.env_misspelt"].append((f"{name} -> {meant}", source))
        elif not OTHERS.match(name):
            found["nccl.env_unknown"].append((shown, source))
        return
    if value == "" or "$" in value or value == "<redacted>":
        return
    if wrong := _wrong(variable, value):
        found["nccl.env_invalid"].append((f"{shown}: {wrong}", source))
    if variable.fate and not (variable.fate in ("gone", "deprecated") and seen and seen[:2] < version(variable.at)[:2]):
        instead = f", now {variable.successor}" if variable.successor else ""
        found["nccl.env_outdated"].append((f"{name}: {_fate(variable)}{instead}", source))
    if seen and variable.since and seen[:2] < version(variable.since)[:2]:
        text = f"{shown}: NCCL {variable.since} and later, here {'.'.join(map(str, seen))}"
        found["nccl.env_too_new"].append((text, source))
    if variable.danger and _dangerous(variable, value) and not _right_here(store, name):
        danger = DANGERS[variable.danger]
        found[danger].append((f"{shown}: {variable.en}", source))
        found[f"{danger}_zh"].append((f"{shown}：{variable.zh}", source))


def _fate(variable: Variable) -> str:
    by = "PyTorch" if variable.program == "torch" else "NCCL"
    word = {"gone": "last known to", "renamed": "renamed in", "removed": "removed in", "deprecated": "deprecated in"}
    return f"{word[variable.fate]} {by} {variable.at}"


def as_read(text: str) -> int:
    """The number that C's `strtoll` with base 0 makes of the beginning of `text`, 0 when it begins with none."""
    found = LEADING.match(text[:24])
    if not found:
        return 0
    digits = found[0].strip()
    sign, bare = (-1, digits[1:]) if digits[0] == "-" else (1, digits.lstrip("+"))
    if bare[:2].lower() == "0x":
        return sign * int(bare, 16)
    octal = len(bare) > 1 and bare[0] == "0" and not set(bare) & {"8", "9"}
    return sign * int(bare, 8 if octal else 10)


def _wrong(variable: Variable, value: str) -> str:
    """Why the value does not do what it looks like, with what would be right; "" if it is well."""
    text = value.strip()
    if variable.kind in ("int", "bool"):
        if not NUMBER.match(text):
            return f"not a whole number; NCCL reads it as {as_read(text)}"
        number = as_read(text)
        low, high = variable.low, variable.high
        if (low is not None and number < low) or (high is not None and number > high):
            return f"must be {low} to {high}" if high is not None else f"must be at least {low}"
    elif variable.kind == "level":
        if text not in LEVELS and not text.isdigit():
            return f"no distance of NCCL, which knows {' '.join(LEVELS)}"
    elif variable.kind == "choice":
        if text.upper() not in variable.choices:
            return f"must be one of {' '.join(variable.choices)}"
    elif variable.kind == "names":
        if re.search(r"\s|['\"]", text):
            return "names are separated by commas, without spaces or quotes"
    elif variable.kind in _WORDS:
        words, separators = _WORDS[variable.kind]
        if unknown := [w for w in re.split(separators, text.lstrip("^")) if w and w.lower() not in words]:
            return f"{unknown[0][:20]} is none of {' '.join(words)}"
    return ""


_WORDS = {
    # from 2.24 an entry may begin with the collective it is for: "allreduce:ring;broadcast:tree"
    "algo": ((*ALGOS, *(c := ("allreduce", "broadcast", "reduce", "allgather", "reducescatter"))), r"[,;:^]"),
    "proto": ((*PROTOS, *c), r"[,;:^]"),
    "subsys": (tuple(word.lower() for word in SUBSYSTEMS), r"[,^]"),
}


def _dangerous(variable: Variable, value: str) -> bool:
    """Is the value the one that the table warns of?"""
    when, text = variable.when, value.strip()
    if when == "any":
        return True
    if when[0] in "=<":
        number, limit = as_read(text), int(when[1:])
        return LEADING.match(text) is not None and (number == limit if when[0] == "=" else 0 < number < limit)
    if text.startswith("^"):
        return False
    return bool({word.upper() for word in re.split(r"[,;:]", text)} & {word.upper() for word in when.split()})


def _right_here(store: FactStore, name: str) -> bool:
    """GeForce and RTX cards have no peer access: switching it off is right there."""
    if name not in ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"):
        return False
    names = [str(fact.value) for fact in store.every("gpu.name")]
    return bool(store.events("gpu.geforce")) or any("GeForce" in text or "RTX" in text for text in names)


def _differs(store: FactStore) -> Iterator[Fact]:
    """Variables that all ranks need alike and that hosts of one run have set to different values."""
    hosts: dict[tuple[str, str], dict[str, dict[str, Source]]] = defaultdict(lambda: defaultdict(dict))
    for event in store.events("nccl.env"):
        name, host = str(event.fields.get("name", "")), host_of(event)
        if host:
            hosts[event.run, name][str(event.fields.get("value", "")).rstrip(".")].setdefault(host, event.source)
    for key in store.names():
        if key.startswith("env.NCCL_"):
            for fact in store.every(key):
                if fact.entity.startswith("node:"):
                    place = hosts["job", key.removeprefix("env.")]
                    place[str(fact.value)].setdefault(fact.entity.removeprefix("node:"), fact.source)
    texts: dict[str, list[Source]] = {}
    for (_, name), values in sorted(hosts.items()):
        variable = variables().get(name)
        told = {host for by_host in values.values() for host in by_host}
        if variable and variable.agree and len(values) > 1 and len(told) > 1:
            parts = [f"{value[:MAX_SHOWN]} on {_some(by_host)}" for value, by_host in sorted(values.items())]
            texts[f"{name}: {', '.join(parts[:4])}"] = [next(iter(b.values())) for b in values.values()]
    if texts:
        yield derived("nccl.env_differs", tuple(texts)[:SHOWN], sources=[s for found in texts.values() for s in found])


def _some(hosts: Iterable[str]) -> str:
    names = sorted(hosts)
    return " ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def matches(setting: str, name: str) -> bool:
    """Does NCCL take the device `name` for this NCCL_SOCKET_IFNAME or NCCL_IB_HCA? (src/misc/utils.cc: matchIfList)"""
    text = setting.strip()
    negated = text.startswith("^")
    text = text.lstrip("^")
    exact = text.startswith("=")
    entries = [entry.split(":")[0] for entry in text.lstrip("=").split(",") if entry]
    hit = any(name == entry if exact else name.startswith(entry) for entry in entries)
    return hit != negated


def _ambiguous(store: FactStore, settings: Mapping[str, dict[str, Source]]) -> Iterator[Fact]:
    """Names without `=` that also stand for longer ones of the same node: mlx5_1 takes mlx5_10 too."""
    texts: dict[str, Source] = {}
    for name, fact_name in (("NCCL_IB_HCA", "node.ib_devices"), ("NCCL_SOCKET_IFNAME", "node.interface_names")):
        devices = {str(device) for fact in store.every(fact_name) for device in _items(fact)}
        for setting, source in settings.get(name, {}).items():
            if setting.startswith(("=", "^")):
                continue
            for entry in (part.split(":")[0] for part in setting.split(",")):
                more = [d for d in devices if d != entry and d.startswith(entry) and d[len(entry) :].isdigit()]
                if entry in devices and entry[-1:].isdigit() and more and not set(more) <= set(setting.split(",")):
                    texts[f"{name}: {entry} also selects {' '.join(sorted(more)[:4])}"] = source
    if texts:
        yield derived("nccl.env_ambiguous", tuple(texts)[:SHOWN], sources=texts.values())


def _items(fact: Fact) -> tuple[object, ...]:
    return fact.value if isinstance(fact.value, tuple) else (fact.value,)


def _unmatched(store: FactStore, settings: Mapping[str, dict[str, Source]]) -> Iterator[Fact]:
    """Is there a node whose interfaces were listed and none of which NCCL_SOCKET_IFNAME selects?"""
    texts: dict[str, Source] = {}
    listed = [fact for fact in store.every("node.interface_names") if len(_items(fact)) > 1]
    for fact in listed:
        chosen = store.get("env.NCCL_SOCKET_IFNAME", fact.entity)
        if chosen and chosen.value and "$" not in str(chosen.value):
            names = [str(name) for name in _items(fact)]
            if not any(matches(str(chosen.value), name) for name in names):
                host = fact.entity.removeprefix("node:")
                texts[f"{chosen.value} is none of {' '.join(names[:8])}" + (f" on {host}" if host != "?" else "")] = (
                    fact.source
                )
    if listed and "NCCL_SOCKET_IFNAME" in settings:
        own = list(settings["NCCL_SOCKET_IFNAME"].values()) if texts else []
        yield derived("nccl.ifname_unmatched", tuple(texts), sources=[*own, *texts.values()])
