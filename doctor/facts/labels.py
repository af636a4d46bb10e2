"""Settings named in short texts: a file called `tp8_zero3.log`, a note such as "PP 4: 33 TFLOPS"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from doctor.facts.model import Scalar

Settings: TypeAlias = dict[str, Scalar]

_WORDS: Mapping[str, int] = {
    "one": 1,
    "single": 1,
    "two": 2,
    "both": 2,
    "multi": 2,
    "three": 3,
    "four": 4,
    "eight": 8,
    "sixteen": 16,
}
_GAP = r"[ =:-]{0,3}"
_NOT = r"(?:no|not|without|w/o|non|disabled?)[ -]"
_OFF = r"(?:off|none|no|false|0)\b"
_CHECKPOINTING = (
    r"(?:recomput(?:e|ation|ing)|(?:gradient|activation|full|grad)[ -](?:checkpointing|ckpt)|checkpointing)"
)


def _number(text: str) -> int:
    return _WORDS[text] if text in _WORDS else int(text)


def _counted(*names: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(names)}){_GAP}(\d+)\b")


_NUMBERS: Mapping[str, re.Pattern[str]] = {
    "tp": _counted("tp", r"tensor[ -](?:model[ -])?parallel(?:ism)?(?:[ -]size)?"),
    "pp": _counted("pp", r"pipeline[ -](?:model[ -])?parallel(?:ism)?(?:[ -]size)?"),
    "cp": _counted("cp", r"context[ -]parallel(?:ism)?(?:[ -]size)?"),
    "ep": _counted("ep", r"expert[ -](?:model[ -])?parallel(?:ism)?(?:[ -]size)?"),
    "dp": _counted("dp", r"data[ -]parallel(?:[ -]size)?"),
    "vpp": _counted("vpp", r"virtual stages?"),
    "zero": _counted("zero", r"zero[ -]?stage", "stage", "z"),
    "micro_batch": _counted(
        *(r"micro[ -]?batch(?:[ -]?size)?", "mbs", "bs", r"per[ -]device[ -](?:train[ -])?batch(?:[ -]?size)?")
    ),
    "grad_accum": _counted(
        *(r"grad(?:ient)?[ -]?acc(?:um(?:ulation)?)?(?:[ -]steps)?", "ga", r"accum(?:ulation)?(?:[ -]steps)?")
    ),
    "num_workers": _counted(r"(?:num[ -]|dataloader[ -])+workers", "workers"),
}
_NODES = re.compile(rf"\b(\d+|{'|'.join(_WORDS)})[ -]?nodes?\b")
_CJK_GPUS = re.compile(r"([单一双两四八])(?:卡|张卡|块卡)")
_CJK: Mapping[str, int] = {"单": 1, "一": 1, "双": 2, "两": 2, "四": 4, "八": 8}
_NNODES = _counted("nnodes", "nodes")
_NGPUS = _counted("n ?gpus", "gpus", "world size", "num gpus")
_GPUS = re.compile(rf"\b(\d+|{'|'.join(_WORDS)})[ -]?(?:x ?)?(?:gpus?|cards?|[ahv]\d{{2,3}}s?)\b")
_NPROC = re.compile(r"\bnproc[ -]per[ -]node[ =]{1,2}(\d+)")
_VISIBLE = re.compile(r"cuda[ _]visible[ _]devices=([\d,]+)")

_FLAGS: tuple[tuple[str, Scalar, re.Pattern[str]], ...] = tuple(
    (key, value, re.compile(pattern))
    for key, value, pattern in (
        ("zero", 0, rf"{_NOT}(?:deepspeed|zero|fsdp|ds\b)|\bplain ddp\b|\bddp\b"),
        ("zero", 3, r"\bfsdp2?\b|full[ -]shard"),
        ("offload", False, rf"{_NOT}(?:(?:cpu[ -])?offload|deepspeed|ds\b)|offload(?:ing)?{_GAP}{_OFF}"),
        ("offload", True, r"offload"),
        ("recompute", "none", rf"{_NOT}{_CHECKPOINTING}|{_CHECKPOINTING}{_GAP}{_OFF}"),
        ("recompute", "selective", rf"selective[ -]{_CHECKPOINTING}|{_CHECKPOINTING}{_GAP}selective"),
        ("recompute", "full", _CHECKPOINTING),
        ("fast_link", False, rf"{_NOT}(?:nvlink|p2p|bridge)|(?:nvlink|bridge|p2p){_GAP}off|p2p[ _]disable=1"),
        ("fast_link", True, r"nvlink|bridge[ -]on"),
    )
)
"""For each key the first pattern that is found decides."""


def settings(text: str) -> Settings:
    """The settings that `text` names, by short keys: tp, pp, cp, ep, zero, nodes, gpus, offload, micro_batch ..."""
    plain = text.lower().replace("_", " ").replace("/", " ").replace("w o ", "w/o ").replace("\t", " ")
    found: Settings = {}
    for key, pattern in _NUMBERS.items():
        if match := pattern.search(plain):
            found[key] = int(match[1])
    if match := _NODES.search(plain) or _NNODES.search(plain):
        found["nodes"] = _number(match[1])
    if match := _GPUS.search(plain) or _NGPUS.search(plain) or _NPROC.search(plain):
        found["gpus"] = _number(match[1])
    elif match := _CJK_GPUS.search(plain):
        found["gpus"] = _CJK[match[1]]
    elif match := _VISIBLE.search(plain):
        found["gpus"] = len(match[1].strip(",").split(","))
    for key, value, flag in _FLAGS:
        if key not in found and flag.search(plain):
            found[key] = value
    return found


@dataclass(frozen=True, slots=True)
class Speed:
    """A speed or a duration in a note: `value` in `measure`; `time` tells whether less is better."""

    value: float
    measure: str
    time: bool
    settings: Mapping[str, Scalar]
    per_gpu: bool = False


_VALUE = r"(\d[\d,]*\.?\d*) ?([kK]?) ?"
_DEVICE = r"(?:gpu|GPU|device|card)"
_SECOND = r"s(?:ec(?:ond)?)?"
_MEASURES: tuple[tuple[str, bool, re.Pattern[str]], ...] = (
    ("tflops", False, re.compile(_VALUE + r"[Tt](?:FLOP|flop|Flop)[sS]?(/[a-zA-Z/]+)?")),
    ("tokens/s", False, re.compile(_VALUE + rf"tok(?:en)?s?/((?:{_DEVICE}/)?{_SECOND}(?:/{_DEVICE})?)")),
    ("samples/s", False, re.compile(_VALUE + rf"(?:samples?|images?|sequences)/({_SECOND}\b)")),
    ("it/s", False, re.compile(_VALUE + rf"(?:it|iter|steps?)/({_SECOND}\b)")),
    ("mfu", False, re.compile(r"(?:MFU|mfu)[ :=]{1,3}(\d+\.?\d*)()( ?%)")),
    ("total s", True, re.compile(r"'train_runtime': '?(\d+\.?\d*)()()")),
    ("s/it", True, re.compile(r"(\d+\.?\d*) ?(m?)(s(?:ec(?:onds?)?)? ?/ ?(?:it|iter|iteration|step)\b)")),
    ("s", True, re.compile(r"(\d+\.?\d*) ?(m?)(s(?:ec(?:onds?)?)?\b)")),
)
_SCALE: Mapping[str, Callable[[float], float]] = {
    "k": lambda v: v * 1000,
    "K": lambda v: v * 1000,
    "m": lambda v: v / 1000,
    "": lambda v: v,
}


def speeds(line: str) -> Iterator[Speed]:
    """The speeds in a line, each with the settings named beside it: before it, or after it where none are before."""
    for measure, time, pattern in _MEASURES:
        matches = list(pattern.finditer(line))
        if not matches:
            continue
        leads = bool(settings(line[: matches[0].start()]))
        for index, match in enumerate(matches):
            before = line[matches[index - 1].end() if index else 0 : match.start()]
            after = line[match.end() : matches[index + 1].start() if index + 1 < len(matches) else len(line)]
            named = settings(line) if len(matches) == 1 else settings(before if leads else after)
            value = _SCALE[match[2]](float(match[1].replace(",", "")))
            if measure == "it/s" and value > 0:
                yield Speed(1 / value, "s/it", True, named)
                continue
            per_gpu = measure in ("tflops", "mfu") or re.search(_DEVICE, match[3] or "") is not None
            yield Speed(value, measure, time, named, per_gpu)
        return
