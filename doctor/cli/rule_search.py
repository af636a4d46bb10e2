"""`pdoctor rules search`: from a pasted line of a log, or from words, to the rules."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doctor.cli import options
from doctor.cli.main import OK

if TYPE_CHECKING:
    from doctor.rulebase.model import RuleBase
    from doctor.session.rule_search import Reader

MOST_PASTED = 1 << 20
"""Bytes of standard input that are looked at."""


@click.command(no_args_is_help=True)
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@click.option("-n", "--number", type=click.IntRange(min=1), default=10, show_default=True, help="How many rules.")
@options.rules
@options.lang
def search(text: tuple[str, ...], number: int, rules: tuple[Path, ...], lang: str) -> int:
    """Find rules by TEXT: lines of a log, in quotes, or words in English or Chinese. A TEXT of - is standard input.

    Lines are matched with the known messages. The rules that read these come best first, each with its weight (nats
    that the line adds to the belief in the cause), and with the place in its file.
    """
    from doctor.messages import say
    from doctor.rulebase.load import load_rulebase
    from doctor.rulebase.search import find, meant
    from doctor.session.rule_search import events_in, readers_of
    from doctor.views.safe import visible

    asked = _given(text)
    base = load_rulebase(rules).base
    events = events_in(asked, base)
    readers = readers_of(events, base)
    if readers:
        lines = [line for reader in readers[:number] for line in _reader(reader, base, rules, lang)]
        total = len(readers)
    else:
        if events:
            options.note(say(lang, "search.unread", names=", ".join(dict.fromkeys(event.name for event in events))))
        found = find(asked, base)
        lines = [f"{match.rule.id:8}{match.rule.title.get(lang)}" for match in found[:number]]
        total = len(found)
    if not total:
        words = meant(asked, base)
        nothing = say(lang, "search.nothing") + (say(lang, "search.meant", words=words) if words else "")
        raise click.UsageError(nothing)
    for line in lines:
        click.echo(visible(line))
    if total > number:
        options.note(say(lang, "search.more", n=total - number, all=total))
    return OK


def _given(text: Sequence[str]) -> str:
    if tuple(text) != ("-",):
        return " ".join(text)
    return sys.stdin.buffer.read(MOST_PASTED).decode("utf-8", "replace") if sys.stdin is not None else ""


def _reader(reader: Reader, base: RuleBase, rules: Sequence[Path], lang: str) -> Iterator[str]:
    from doctor.messages import say
    from doctor.rulebase.names import meaning_of

    yield f"{reader.rule.id:8}{reader.weight:+.1f}  {reader.rule.title.get(lang)}"
    best = reader.seen[0]
    meaning = meaning_of(best.event.name, base.events, lang)
    note = say(lang, "search.line", line=best.event.source.line, meaning=meaning, event=best.event.name)
    yield " " * 8 + note + (say(lang, "search.where", where=best.where) if best.where else "")
    yield " " * 8 + _place(reader.rule.path, best.signal.name, rules)


def _place(shown: str, signal: str, rules: Sequence[Path]) -> str:
    """The rule's file with the line of the signal, as far as it can be told."""
    from doctor.rulebase.load import rules_folder

    for folder in (*rules, rules_folder()):
        path = folder.parent / shown
        if shown.startswith(f"{folder.name}/") and path.is_file():
            for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
                if re.match(rf"\s+{re.escape(signal)}:|signals: *\{{.*\b{re.escape(signal)}:", line):
                    return f"{shown}:{number}"
    return shown
