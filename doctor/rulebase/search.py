"""Finds rules by words, in English and Chinese: in their titles, causes, reasons, messages and remedies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from math import log

from doctor.rulebase.model import Rule, RuleBase
from doctor.rulebase.names import meaning_of
from doctor.rulebase.sample import sample

WEIGHTS: Mapping[str, float] = {"name": 8.0, "title": 4.0, "messages": 2.0, "because": 1.5, "remedies": 1.0}
"""What a word counts by the part of the rule that it stands in."""

MOST_WORDS = 40
SHORTEST_MEANT = 4
"""Letters of a word that may be offered in the place of a misspelt one."""

_WORD = re.compile(r"[a-z0-9_][a-z0-9_.-]*[a-z0-9_]|[a-z0-9]|[\u3400-\u9fff]+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that was found, and how well its texts fit; only the order of scores means anything."""

    rule: Rule
    score: float


def find(query: str, base: RuleBase) -> list[Match]:
    """The rules that hold words of `query`, best first: rare words and those of a title count more.

    A rule must hold half of the words, or it is none that was meant.
    """
    words = words_of(query)
    parts = {rule.id: parts_of(rule, base) for rule in base.rules.values()}
    found: list[Match] = []
    holders = {
        word: [id for id, texts in parts.items() if any(word in text for text in texts.values())] for word in words
    }
    for rule_id, texts in parts.items():
        own = [word for word in words if rule_id in holders[word]]
        if own and 2 * len(own) >= len(words):
            score = sum(
                log(1 + len(parts) / len(holders[word]))
                * max(WEIGHTS[part] for part, text in texts.items() if word in text)
                for word in own
            )
            found.append(Match(base.rules[rule_id], score))
    return sorted(found, key=lambda match: (-match.score, match.rule.id))


def meant(query: str, base: RuleBase) -> str:
    """`query` with its unknown words replaced by close known ones; empty if none is close."""
    known = {
        part
        for rule in base.rules.values()
        for text in parts_of(rule, base).values()
        for word in words_of(text, None)
        for part in (word, *re.split(r"[-_.]", word))
        if len(part) >= SHORTEST_MEANT
    }
    changed = []
    for word in words_of(query):
        close = [word] if word in known else get_close_matches(word, known, n=1, cutoff=0.7)
        changed.append(close[0] if close else word)
    return " ".join(changed) if changed != words_of(query) else ""


def parts_of(rule: Rule, base: RuleBase) -> dict[str, str]:
    """The texts of a rule by part, in lower case, both languages together."""
    cause = base.causes.get(rule.cause)
    events = sorted({event for signal in rule.signals.values() for event in signal.events})
    specs = [base.events[event] for event in events if event in base.events]
    messages = [meaning_of(event, base.events, lang) for event in events for lang in ("en", "zh")]
    texts: Mapping[str, Sequence[str]] = {
        "name": [rule.id, rule.name, rule.cause],
        "title": [rule.title.en, rule.title.zh, *([cause.title.en, cause.title.zh] if cause else [])],
        "messages": [*events, *messages, *(sample(pattern) for spec in specs for pattern in spec.patterns)],
        "because": [rule.because.en, rule.because.zh],
        "remedies": [
            text for remedy in rule.remedies for text in (remedy.title.en, remedy.title.zh, str(remedy.change))
        ],
    }
    return {part: "\n".join(lines).lower() for part, lines in texts.items()}


def words_of(text: str, most: int | None = MOST_WORDS) -> list[str]:
    """The words of `text` in lower case, each once; Chinese, which has no blanks, in pairs of characters."""
    words = chain.from_iterable(
        [run[i : i + 2] for i in range(max(1, len(run) - 1))] if _CHINESE.match(run) else [run]
        for run in _WORD.findall(text.lower())
    )
    return list(dict.fromkeys(words))[:most]
