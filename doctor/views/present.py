"""Words for the parts of a report that every view shows: places, sizes, changes, what was and was not looked at."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.engine.model import Finding, NextStep
from doctor.engine.situation import NOT_OWN
from doctor.facts.model import Event, Source, Value
from doctor.facts.ranks import MOST_NAMES, ranges
from doctor.facts.said import words
from doctor.messages import TEXTS, say, say_count
from doctor.messages_probes import translated
from doctor.rulebase.model import Remedy, Rule, Severity
from doctor.rulebase.names import meaning_of
from doctor.session.asked import flags_of, lines
from doctor.session.notes import Note
from doctor.session.report import Patched, Report

SYMBOLS: Mapping[str, str] = {"fatal": "✗", "degraded": "!", "risk": "○", "info": "·"}
_FACT = re.compile(r"config\.\w+")
_EXPANDS = re.compile(r"(?:[\w.,:/+@%=^-]|\$[A-Za-z_]\w*)*\$[A-Za-z_]\w*(?:[\w.,:/+@%=^-]|\$[A-Za-z_]\w*)*")
KINDS = ("run", "node", "gpu", "nic", "rank")


def places(entities: Iterable[str], lang: str) -> str:
    """Where something is: `ranks 0-2, 5`, `node n07`; the whole job when no entity is named."""
    by_kind: dict[str, list[str]] = {}
    for entity in entities:
        kind, _, name = entity.partition(":")
        if name == "?":  # a pasted output that does not name its host
            name = say(lang, "place.unnamed")
        if kind in KINDS:
            by_kind.setdefault(kind, []).append(name.removeprefix("?/"))
    shown = [say_count(lang, f"place.{kind}", len(names), names=names_of(names)) for kind, names in by_kind.items()]
    return say(lang, "list.and").join(shown) or say(lang, "place.job")


def names_of(names: list[str]) -> str:
    if all(name.isdecimal() for name in names):
        return ranges(int(name) for name in names)
    return ", ".join(names[:MOST_NAMES]) + (f" (+{len(names) - MOST_NAMES})" if len(names) > MOST_NAMES else "")


def where(finding: Finding, report: Report, lang: str) -> str:
    """Where a finding is; a single rank with its node."""
    shown = places(finding.entities, lang)
    if len(finding.entities) == 1 and finding.entities[0].startswith("rank:"):
        host = report.store.get("rank.host", finding.entities[0])
        if host is not None:
            return say(lang, "place.on", what=shown, node=host.value)
    return shown


def size(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    unit = units[0]
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"


def seconds(value: float, lang: str) -> str:
    """A duration a person can read: 0.4 s, 612 s, 45 min, 3.2 h."""
    if value < 1000:
        return f"{value:.1f} {say(lang, 'unit.s')}" if value < 10 else f"{value:.0f} {say(lang, 'unit.s')}"
    if value < 5400:
        return f"{value / 60:.0f} {say(lang, 'unit.min')}"
    return f"{value / 3600:.1f} {say(lang, 'unit.h')}"


def value(known: Value) -> str:
    """A value as --answers takes it: true, [a, b]."""
    if isinstance(known, bool):
        return str(known).lower()
    return f"[{', '.join(map(str, known))}]" if isinstance(known, tuple) else str(known)


def quoted(source: Source, lang: str) -> str:
    """The line of a source as it stands there; what a reader put into words, in the language."""
    return words(source.said, lang) if source.said is not None else source.text


def note_text(note: Note, lang: str) -> str:
    told = {name: translated(value, lang) for name, value in note.values.items() if name in ("text", "reason")}
    more = say(lang, "follow.more", n=note.values["more"]) if "more" in note.values else ""
    return say(lang, note.key, path=note.path, **{**note.values, **told}) + more


def warnings(report: Report, lang: str) -> list[str]:
    """The remarks on the input, each kind of remark once with the files it holds for."""
    alike: dict[tuple[str, str], list[Note]] = {}
    for note in report.all_notes:
        alike.setdefault((note.key, "\0".join(note.values.values())), []).append(note)
    return [_grouped(notes, lang) for notes in alike.values()]


def _grouped(notes: list[Note], lang: str) -> str:
    first = note_text(notes[0], lang)
    if len(notes) == 1:
        return first
    return say(lang, "input.grouped", first=first, names=names_of([note.path for note in notes[1:]]))


def event_meaning(report: Report, name: str, lang: str) -> str:
    return meaning_of(name, report.rulebase.events, lang) or name


def own_frame(event: Event | None) -> str:
    """Where in the job's own code the exception came about that the event tells of: file, line, function and code."""
    return str(event.fields.get("own_frame") or "") if event else ""


def summary(report: Report, lang: str) -> str:
    """The diagnosis in one sentence."""
    diagnosis = report.diagnosis
    alarming = [f for f in diagnosis.roots if f.severity in (Severity.FATAL, Severity.DEGRADED)]
    if alarming:
        first = alarming[0]
        text = say(lang, "summary.roots", title=first.rule.title.get(lang), where=where(first, report, lang))
        return text + (say(lang, "summary.more", n=len(alarming) - 1) if alarming[1:] else "")
    if diagnosis.verdict == "healthy":
        quiet = len(diagnosis.roots)
        return say(lang, "summary.risks", n=quiet) if quiet else say(lang, "summary.healthy")
    if diagnosis.unexplained:
        first_event = diagnosis.unexplained[0]
        place = [f"rank:{first_event.rank}"] if first_event.rank is not None else []
        spot = f"{first_event.source.path}:{first_event.source.line}"
        spot = f"{spot} ({places(place, lang)})" if place else spot
        raised, frame = first_event.fields.get("exception"), own_frame(first_event).partition(": ")[0]
        if raised and frame:
            return say(lang, "summary.raised", exception=raised, frame=frame, where=spot)
        return say(lang, "summary.unexplained", where=spot)
    if (follows := _first_consequence(report)) is not None:
        spot = f"{follows.source.path}:{follows.source.line}"
        return say(lang, "summary.follows", where=spot, what=event_meaning(report, follows.name, lang))
    return say(lang, "summary.too_little")


def _first_consequence(report: Report) -> Event | None:
    """The first line of logs that hold nothing but what follows from a failure elsewhere."""
    own = [event for event in report.store.events() if event.name not in NOT_OWN]
    specs = report.rulebase.events
    if not all((spec := specs.get(event.name)) is not None and spec.follows for event in own):
        return None
    return min(own, key=lambda event: (event.source.path, event.order), default=None)


def headline(report: Report, lang: str) -> str:
    """The line beside the verdict: how many causes there are, in how much material; else the summary itself."""
    roots = sum(root.severity in (Severity.FATAL, Severity.DEGRADED) for root in report.diagnosis.roots)
    if not roots:
        return summary(report, lang)
    ranks, logs = len(ranks_seen(report)), sum(given.kind == "log" for given in report.inputs)
    recordings = sum(given.kind in RECORDINGS for given in report.inputs)
    parts = [say_count(lang, "headline.roots", roots)]
    parts += [say_count(lang, "headline.logs", logs)] if logs else []
    parts += [say_count(lang, "headline.recordings", recordings)] if recordings else []
    parts += [say_count(lang, "headline.ranks", ranks)] if ranks else []
    return say(lang, "list.and").join(parts)


def ranks_seen(report: Report) -> set[int]:
    ranks = {event.rank for event in report.store.events() if event.rank is not None}
    return ranks | {int(name[5:]) for name in report.store.entities("rank") if name[5:].isdecimal()}


RECORDED_BY: Mapping[str, frozenset[str]] = {
    "trace": frozenset({"trace", "nsys"}), "expert_loads": frozenset({"expert_loads", "recording"}),
    "memory_snapshot": frozenset({"memory_snapshot"}), "flight_recorder": frozenset({"flight_recorder"}),
    "what_if": frozenset({"what_if"}), "recording": frozenset({"recording"}),
    "stacks": frozenset({"stacks"}),
}  # fmt: skip
"""Kinds of inputs by who supplies a fact that no person can look up."""
RECORDINGS = frozenset[str]().union(*RECORDED_BY.values())


def recorded_by(step: NextStep, report: Report) -> str:
    """Which recording alone could tell the fact that a step asks for; empty where a person can."""
    spec = report.rulebase.catalogue.get(step.facts[0]) if step.facts else None
    providers = spec.providers if spec else ()
    return providers[0] if providers and all(name in RECORDED_BY for name in providers) else ""


def next_steps(report: Report) -> list[NextStep]:
    """The steps that can be taken: what a recording does not tell that was handed over, nobody can find out."""
    given = {given.kind for given in report.inputs}
    given |= {given.path.removeprefix("probe ") for given in report.inputs if given.kind == "probe"}
    return [
        step for step in report.diagnosis.next_steps if not given & RECORDED_BY.get(recorded_by(step, report), set())
    ]


def step_text(step: NextStep, report: Report, lang: str) -> str:
    """The words of a next step; a fact that is asked for is named."""
    if recording := recorded_by(step, report):
        return say(lang, "next.recording", what=say(lang, f"provider.{recording}"), name=step.facts[0])
    if step.facts:
        return say(lang, "next.fact", name=step.facts[0], meaning=step.how)
    how = step.how_zh if lang == "zh" and step.how_zh else step.how
    if step.asks:
        return how
    name = step_name(step.id, lang)
    return say(lang, "next.step", name=name, how=how) if how else name


def step_name(step: str, lang: str) -> str:
    """What a step is called; a command that a rule writes out is its own name."""
    name = step.partition(":")[2]
    return say(lang, f"next.{name}") if f"next.{name}" in TEXTS else name or step


def choices(step: NextStep, report: Report, lang: str) -> list[tuple[str, str]]:
    """The answers to a question as (key, text); none for a step that asks nothing."""
    question = report.rulebase.questions.get(step.asks)
    return [(answer.key, answer.text.get(lang)) for answer in question.answers] if question else []


def unexplained(report: Report) -> list[Event]:
    """Failures that no finding accounts for, one a line; a line that a finding quotes is accounted for."""
    told = {source for finding in report.diagnosis.findings for source in finding.sources}
    left: dict[Source, Event] = {}
    for event in report.diagnosis.unexplained:
        if event.source not in told:
            left.setdefault(event.source, event)
    return list(left.values())


def cause_title(report: Report, cause: str, lang: str) -> str:
    known = report.rulebase.causes.get(cause)
    return known.title.get(lang) if known else cause


def changes(rule: Rule, remedy: Remedy, report: Report) -> list[tuple[str, str]]:
    """The change a remedy asks for as (framework, text ready to copy); one pair a framework it is known for.

    Where the job's framework is known, the other frameworks' flags are left out.
    """
    change: Mapping[str, Any] = remedy.change
    found: list[tuple[str, str]] = []
    if env := change.get("env"):
        found.append(("env", "\n".join(_export(str(name), value) for name, value in env.items())))
    if command := change.get("command"):
        found.append(("command", lines(command)))
    if patch := change.get("patch"):
        values = report.patched.get((rule.id, remedy.id), {})
        wanted = [key for key in patch if not _same(values.get(key))]
        told = [key for key in wanted if not _unknown(patch[key], values.get(key))]
        changed = [_assignment(key, patch[key], values.get(key)) for key in told or wanted]
        found += [("config", "\n".join(changed))] if changed else []
    if code := change.get("code"):
        found.append(("code", lines(code)))
    return found + list(flags_of(remedy, report.store).items())


def _export(name: str, value: Any) -> str:
    """An order of the shell; what the value takes from another variable is put in by the shell."""
    if value is None:
        return f"unset {name}"
    text = str(value)
    return f"export {name}=" + (f'"{text}"' if _EXPANDS.fullmatch(text) else shlex.quote(text))


def _same(patched: Patched | None) -> bool:
    """Is the setting already what a remedy would set it to?"""
    return patched is not None and patched.then is not None and patched.then == patched.now


def _unknown(wanted: Any, patched: Patched | None) -> bool:
    """Is it merely the name of a value that is not known, such as that of a size which is legal as it is?"""
    return (patched is None or patched.then is None) and _FACT.fullmatch(str(wanted)) is not None


def _assignment(key: str, wanted: Any, patched: Patched | None) -> str:
    """`micro_batch = 1  # now 2`, or the expression itself while what it needs is not known."""
    if patched is None or patched.then is None:
        return f"{key} = {str(wanted).replace('config.', '')}"
    return f"{key} = {patched.then}" + (f"  # {patched.now} -> {patched.then}" if patched.now is not None else "")
