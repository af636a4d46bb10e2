"""What the Xid messages of each GPU say together: the code that came first, what merely followed, what the GPU needs.

One fault makes a GPU print several codes: the fault itself, details of it, channels that are stopped because of it
(45 names its cause), and what the driver wants done (154). Only the codes that nothing before accounts for are
`primary`; rules look at their families.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from doctor.facts.model import Event, Fact, Quality, Source, Value
from doctor.facts.store import FactStore
from doctor.facts.xid_table import Nvlink5, decode, xids

NEEDS = ("event:kernel.xid", "gpu.bus_id", "gpu.unreadable", "gpu.recovery_action", "gpu.reset_required")
GIVES = (
    *("gpu.xids", "gpu.xid_first", "gpu.xid_follow_on", "gpu.xid_families", "gpu.xid_meaning", "gpu.xid_severity"),
    *("gpu.xid_points", "gpu.xid_actions", "gpu.recovery_needed", "gpu.nvlink5_errors"),
    *("xid.codes", "xid.primary", "xid.actions", "xid.unknown"),
)

FOLLOWERS: Mapping[str, frozenset[str]] = {
    "ecc": frozenset({"remap", "ecc", "application", "cleanup", "engine", "reset"}),
    "remap": frozenset({"cleanup"}),
    "nvlink": frozenset({"nvlink", "application", "cleanup", "engine", "reset"}),
    "bus": frozenset({"gsp", "nvlink", "application", "cleanup", "engine", "reset", "note"}),
    "gsp": frozenset({"application", "cleanup", "engine", "reset"}),
    "reset": frozenset({"reset", "application", "cleanup", "engine", "gsp"}),
    "engine": frozenset({"engine", "cleanup"}),
    "application": frozenset({"application", "cleanup", "engine"}),
    "cleanup": frozenset({"cleanup"}),
}
"""Families that a fault of the first family brings about on its GPU: channels are stopped, engines fault."""

HANGS_AFTER_APPLICATION = 109
"""A kernel that faulted may keep its context from switching: then 109 follows an application's code."""

_OWN = re.compile(r"Xid \([^)\r\n]{4,48}\): (?P<code>\d{1,4})")
_BUS = re.compile(r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})", re.IGNORECASE)
_RECOVERY = re.compile(
    r"recovery action changed from .{1,60} to (?P<code>0x[0-9a-fA-F]{1,2})? ?\(?(?P<text>[\w ]{3,40})"
)
_CODES = {1: "reset", 2: "reboot", 3: "drain_p2p", 4: "drain_and_reset"}
"""NVML, nvmlDeviceGpuRecoveryAction_t; the text beside the number differs over drivers."""
MAX_CODES, MAX_EVENTS = 64, 20_000


@dataclass(slots=True)
class Seen:
    """The codes of one GPU in the order in which they came."""

    codes: dict[int, Event] = field(default_factory=dict)
    follow_on: dict[int, None] = field(default_factory=dict)
    families: dict[str, Event] = field(default_factory=dict)
    nvlink5: dict[str, tuple[Nvlink5, Event]] = field(default_factory=dict)
    recovery: tuple[str, Source] | None = None


def derive(store: FactStore) -> Iterator[Fact]:
    names = _names(store)
    gpus: dict[str, Seen] = defaultdict(Seen)
    for event in store.events("kernel.xid")[:MAX_EVENTS]:
        entity = _entity(event, names)
        _take(gpus[entity], event)
    for fact in store.every("gpu.recovery_action"):
        if (needed := _needed(0, str(fact.value))) is not None:
            gpus[fact.entity].recovery = (needed, fact.source)
    for fact in store.every("gpu.reset_required"):
        if fact.value is True and gpus[fact.entity].recovery in (None, ("", fact.source)):
            gpus[fact.entity].recovery = ("reset", fact.source)
    for entity, seen in gpus.items():
        yield from _gpu(entity, seen)
    yield from _job(list(gpus.values()))


def _take(seen: Seen, event: Event) -> None:
    cause = event.fields.get("xid")
    if not isinstance(cause, int):
        return
    match = _OWN.search(event.source.text)
    code = int(match["code"]) if match else cause
    for number, follows in ((cause, False), (code, code != cause)):
        known = xids().get(number)
        family = known.family if known else "unknown"
        if number == 154 and (found := _RECOVERY.search(event.source.text)):
            needed = _needed(int(found["code"] or "0", 16), found["text"])
            seen.recovery = (needed or "", event.source)
        if family == "nvlink" and (link := decode(number, event.source.text)):
            seen.nvlink5.setdefault(f"{number} {link.unit} {link.subcode} {link.resolution}", (link, event))
            if _harmless(link):
                family = "note"
        if number in seen.codes and not (family == "nvlink" and "nvlink" not in seen.families):
            continue
        if number not in seen.codes and len(seen.codes) < MAX_CODES:
            seen.codes[number] = event
        if follows or _follows(seen, number, family):
            seen.follow_on[number] = None
        else:
            seen.families.setdefault(family, event)


def _harmless(link: Nvlink5) -> bool:
    """The table lets the driver go on; where it leaves that to Xid 154 or has no row, the message's word decides."""
    return not link.fatal if link.resolution in ("", "XID_154_EVAL") else link.resolution == "IGNORE"


def _follows(seen: Seen, code: int, family: str) -> bool:
    if family == "recovery":
        return bool(seen.families)
    if code == HANGS_AFTER_APPLICATION and "application" in seen.families:
        return True
    return any(family != before and family in FOLLOWERS.get(before, ()) for before in seen.families)


def _needed(code: int, text: str) -> str | None:
    """reset, reboot, drain_p2p, drain_and_reset; "" if nothing is needed; None if the text says nothing known."""
    if code in _CODES:
        return _CODES[code]
    words = text.lower()
    if "none" in words:
        return ""
    if "drain" in words:
        return "drain_and_reset" if "reset" in words else "drain_p2p"
    return "reboot" if "reboot" in words else "reset" if "reset" in words or "flr" in words else None


def _names(store: FactStore) -> Mapping[tuple[int, int, int], list[str]]:
    """The GPUs that nvidia-smi lists, by PCI address; one that does not answer is listed by its address alone."""
    found: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    told = [(str(fact.value), fact.entity) for fact in store.every("gpu.bus_id")]
    told += [(fact.entity.rpartition("/")[2], fact.entity) for fact in store.every("gpu.unreadable")]
    for text, entity in told:
        if (address := _address(text)) and entity not in found[address]:
            found[address].append(entity)
    return found


def _address(text: str) -> tuple[int, int, int] | None:
    match = _BUS.search(text)
    return (int(match["domain"] or "0", 16), int(match["bus"], 16), int(match["device"], 16)) if match else None


def _entity(event: Event, names: Mapping[tuple[int, int, int], list[str]]) -> str:
    """The GPU of an event: as nvidia-smi numbers it if its listing of that host is there, else by PCI address."""
    pci = str(event.fields.get("pci") or "").lower().rstrip(":.")
    listed = names.get(address, []) if (address := _address(pci)) else []
    for entity in listed:
        if event.host and entity.startswith(f"gpu:{event.host}/"):
            return entity
    if len(listed) == 1 and (not event.host or listed[0].startswith("gpu:?/")):
        return listed[0]
    return f"gpu:{event.host or '?'}/{pci or '?'}"


def _gpu(entity: str, seen: Seen) -> Iterator[Fact]:
    if seen.codes:
        primary = [code for code in seen.codes if code not in seen.follow_on] or list(seen.codes)
        first = primary[0]
        shown = _because(primary, seen)
        yield _fact("gpu.xids", tuple(seen.codes), entity, shown)
        yield _fact("gpu.xid_first", first, entity, shown)
        yield _fact("gpu.xid_follow_on", tuple(seen.follow_on), entity, shown)
        yield _fact("gpu.xid_families", tuple(seen.families), entity, shown)
        yield _fact("gpu.xid_meaning", meaning(first), entity, shown)
        known = xids().get(first)
        yield _fact("gpu.xid_severity", known.severity if known else "unknown", entity, shown)
        yield _fact("gpu.xid_points", known.points if known else "unknown", entity, shown)
        yield _fact("gpu.xid_actions", tuple(_actions(seen)), entity, shown)
    if seen.recovery is not None:
        yield _fact("gpu.recovery_needed", seen.recovery[0], entity, [seen.recovery[1]])
    if seen.nvlink5:
        texts = tuple(_nvlink_text(link) for link, _ in seen.nvlink5.values())
        yield _fact("gpu.nvlink5_errors", texts, entity, [event.source for _, event in seen.nvlink5.values()])


def _because(codes: list[int], seen: Seen) -> list[Source]:
    """The meaning of each code in the table, then the lines themselves."""
    said = [Source("table", f"Xid {code}", text=meaning(code)) for code in codes]
    decoded = [Source("table", f"NVLink {link.link}", text=_nvlink_text(link)) for link, _ in seen.nvlink5.values()]
    return [*said[:4], *decoded[:2], *(seen.codes[code].source for code in codes)]


def meaning(code: int) -> str:
    """One line on a code in both languages, with the action of NVIDIA's catalogue."""
    known = xids().get(code)
    if known is None:
        return "not in the catalogue of Xid codes · 目录中没有此代码"
    action = f" → {known.action}" if known.action else ""
    return f"{known.en} · {known.zh}{action}"


def _nvlink_text(link: Nvlink5) -> str:
    then = " → ".join(word for word in (link.resolution, link.investigate) if word and word != "IGNORE")
    severity = "fatal" if link.fatal else "nonfatal"
    return f"{link.unit} sub-code {link.subcode} on link {link.link}, {severity}" + (f" → {then}" if then else "")


def _actions(seen: Seen) -> Iterator[str]:
    """What is to be done, each once: the driver's own word (154) before the catalogue's."""
    found: dict[str, None] = {}
    if seen.recovery and seen.recovery[0]:
        found[seen.recovery[0].upper()] = None
    for code in seen.codes:
        known = xids().get(code)
        if known and known.action and code not in seen.follow_on:
            found[known.action] = None
    for link, _ in seen.nvlink5.values():
        found.update(dict.fromkeys(word for word in (link.resolution, link.investigate) if word))
    yield from found


def _job(gpus: list[Seen]) -> Iterator[Fact]:
    if not any(seen.codes or seen.recovery for seen in gpus):
        return
    codes = {code: event.source for seen in gpus for code, event in seen.codes.items()}
    primary = {c: e.source for seen in gpus for c, e in seen.codes.items() if c not in seen.follow_on}
    actions = dict.fromkeys(action for seen in gpus for action in _actions(seen))
    sources = [*codes.values(), *(seen.recovery[1] for seen in gpus if seen.recovery)]
    yield _fact("xid.codes", tuple(codes), "job", sources)
    yield _fact("xid.primary", tuple(primary), "job", [*primary.values()] or sources)
    yield _fact("xid.actions", tuple(actions), "job", sources)
    unknown = {code: source for code, source in primary.items() if code not in xids()}
    yield _fact("xid.unknown", tuple(unknown), "job", [*unknown.values()] or sources)


def _fact(name: str, value: Value, entity: str, sources: list[Source]) -> Fact:
    because = tuple(dict.fromkeys(sources))[:16]
    return Fact(name, value, entity, Source("derived", text=name), quality=Quality.DERIVED, because=because)
