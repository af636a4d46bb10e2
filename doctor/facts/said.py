"""What a recording shows, as data: the key of a text and what fills it, so that a view can say it in its language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

LANGUAGES = ("en", "zh")

TEXTS: Mapping[str, tuple[str, str]] = {
    "fr.call": ("{op}{way} {seq} in {group}", "{group} 的第 {seq} 次 {op}{way}"),
    "fr.to": (" to rank {peer}", "（发往 rank {peer}）"),
    "fr.from": (" from rank {peer}", "（来自 rank {peer}）"),
    "fr.at": (", at {place}", "，位于 {place}"),
    "fr.of_ranks": ("dumps of {n} ranks", "{n} 个 rank 的转储"),
    "fr.no_dump": ("rank {rank} left no dump; {n} others did", "rank {rank} 没有留下转储；另有 {n} 个 rank 留下了"),
    "fr.idle": (
        "rank {rank} has no unfinished call{came}{last}{hidden}{at}",
        "rank {rank} 没有未完成的调用{came}{last}{hidden}{at}",
    ),
    "fr.came": ("; it came to {seq} in {group}", "；它在 {group} 中到达第 {seq} 次"),
    "fr.last": ("; its last call was {call}", "；最后的调用是 {call}"),
    "fr.hidden": (
        "; it makes sends or receives as well, of which none is recorded",
        "；它还有 send/recv，这些没有被记录",
    ),
    "fr.stands": (
        "rank {rank} stands in {call} (record {id}, {state}){at}",
        "rank {rank} 停在 {call}（记录 {id}，{state}）{at}",
    ),
    "fr.over": ("{call} is over for {who}, but not for rank {rank}", "{call} 对 {who} 已结束，但对 rank {rank} 没有"),
    "fr.waits_for": (
        "{who} in {call} for rank {rank}, which {why}{at}",
        "{who} 在 {call} 中等待 rank {rank}：{why}{at}",
    ),
    "fr.side": ("{who}: number {seq} of {group} is {shape}{at}", "{who}：{group} 的第 {seq} 次调用是 {shape}{at}"),
    "fr.shape": ("{op} of {sizes} {types}", "{op}，元素数 {sizes}，类型 {types}"),
    "fr.waits": ("{who} -> {whom}: {op}{seq} in {group} ({why})", "{who} -> {whom}：{group} 的 {op}{seq}（{why}）"),
    "fr.why.NOT_JOINED": ("has not called it", "没有发起它"),
    "fr.why.NOT_POSTED": ("has not posted its side", "没有发起对应的收发"),
    "fr.why.ELSEWHERE": ("stands in an earlier call", "停在更早的调用"),
    "fr.why.ABSENT": ("left no dump", "没有留下转储"),
    "fr.why.LEFT": ("has left it already", "已经离开它"),
}
"""English and Chinese side by side."""


@dataclass(frozen=True, slots=True)
class Said:
    """The `key` of a text in TEXTS, and what fills it: plain values, or texts in turn."""

    key: str
    values: tuple[tuple[str, Part], ...] = ()


Part: TypeAlias = "str | int | Said"


def said(key: str, **values: Part) -> Said:
    """A text with what fills it."""
    return Said(key, tuple(values.items()))


def words(part: Part, lang: str = "en") -> str:
    """The text in a language; English where the language is not known."""
    if not isinstance(part, Said):
        return str(part)
    texts = TEXTS[part.key]
    text = texts[LANGUAGES.index(lang)] if lang in LANGUAGES else texts[0]
    return text.format(**{name: words(value, lang) for name, value in part.values})
