"""The report as Markdown, short enough for an issue: verdict, causes with their lines, fixes, the change, next steps.

What was read from files stands in blocks and spans of code alone, whose fences are longer than any run of backticks
within: there no mention, link or markup of it is live.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import doctor
from doctor.engine.model import Finding
from doctor.facts.model import Source
from doctor.messages import say
from doctor.session.report import Report
from doctor.views import coverage, plan_report, present
from doctor.views.proofs import proofs
from doctor.views.quote import excerpt
from doctor.views.related import Related
from doctor.views.safe import visible, visible_lines

ROOTS, SIGNALS, REMEDIES, RIVALS, STEPS, GAPS = 5, 4, 3, 3, 3, 6
LONGEST, DIFF_LINES = 600, 120
"""Characters of a log line, lines of a diff."""
SYMBOLS = {"healthy": "✓", "problem": "✗", "undetermined": "?"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<#|~!&$])")
_LIVE = re.compile(r"@|#\d|://|www\.", re.IGNORECASE)


def render(report: Report, lang: str) -> str:
    """The document, ending with a newline."""
    return "\n".join(line.rstrip() for line in _lines(report, lang)).strip("\n") + "\n"


def fenced(lines: Iterable[str], kind: str = "text") -> list[str]:
    """A block of code whose fence is longer than any run of backticks in it."""
    shown = [safe for line in lines for safe in (visible_lines(line) or [""])]
    fence = "`" * max(3, 1 + max((len(run) for line in shown for run in re.findall(r"`+", line)), default=0))
    return [f"{fence}{kind}", *shown, fence]


def code(content: str) -> str:
    """A span of code on one line."""
    shown = visible(" ".join(content.split())) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    padded = f" {shown} " if shown.startswith("`") or shown.endswith("`") else shown
    return f"{fence}{padded}{fence}"


def plain(content: str) -> str:
    """A text of ours with what Markdown would act on made letters. It may hold values that were read: where those would
    become a mention or a link, all of it is a span of code, for an escape does not keep them from that."""
    if _LIVE.search(content):
        return code(content)
    return _SPECIAL.sub(r"\\\1", visible(" ".join(content.split())))


def _lines(report: Report, lang: str) -> Iterator[str]:
    verdict = str(report.diagnosis.verdict)
    headline = present.headline(report, lang)
    yield f"## {SYMBOLS[verdict]} {say(lang, f'verdict.{verdict}')}: {plain(headline)}"
    yield ""
    roots, related = report.diagnosis.roots, Related(report)
    for root in roots[:ROOTS]:
        yield from _root(report, related, root, lang)
    if roots[ROOTS:]:
        yield from ("", say(lang, "html.cut", n=len(roots) - ROOTS))
    yield from _unexplained(report, lang)
    yield from _change(report, lang)
    yield from _next(report, lang)
    gaps = coverage.not_checked(report, lang)
    if gaps:
        yield from ("", f"**{say(lang, 'html.not_checked')}**", "")
        yield from (f"- {code(what)}: {code(why)}" for what, why in gaps[:GAPS])
        if gaps[GAPS:]:
            yield f"- {say(lang, 'html.cut', n=len(gaps) - GAPS)}"
    yield from ("", f"<sub>{say(lang, 'markdown.made', version=doctor.__version__)}</sub>")


def _root(report: Report, related: Related, root: Finding, lang: str) -> Iterator[str]:
    rule, severity = root.rule, str(root.severity)
    yield f"### {present.SYMBOLS[severity]} {plain(rule.title.get(lang))}"
    yield ""
    sure = f"{say(lang, f'label.{root.label}')} {root.belief:.2f}"
    spot = code(present.where(root, report, lang))
    yield f"{say(lang, f'severity.{severity}')} · {sure} · {rule.id} · {spot}"
    yield ""
    yield plain(rule.because.get(lang))
    quoted = list(_quotes(report, root))
    if quoted:
        yield from ("", f"**{say(lang, 'html.evidence')}**", "")
        for source, line in quoted:
            yield code(f"{source.path}:{source.line}" if source.line else source.path or source.kind)
            yield ""
            yield from fenced([line])
            yield ""
    yield from _remedies(report, root, lang)
    rivals = related.rivals(root, lang)[:RIVALS]
    if rivals:
        yield from (f"**{say(lang, 'html.rivals')}**", "")
        for name, how, belief in rivals:
            share = f" ({belief:.2f})" if belief is not None else ""
            told = f" — {plain(how)}" if how else ""
            yield f"- {name} {plain(report.rulebase.rules[name].title.get(lang))}{share}{told}"
        yield ""


def _quotes(report: Report, root: Finding) -> Iterator[tuple[Source, str]]:
    """The first line of every signal that holds."""
    events = {event.source: event for outcome in root.outcomes for event in outcome.events}
    taken = list(dict.fromkeys(outcome.sources[0] for outcome in proofs(root)))
    for source in taken[:SIGNALS]:
        event = events.get(source)
        spec = report.rulebase.events.get(event.name) if event else None
        yield source, excerpt(source.text, LONGEST, spec.patterns if spec else ())


def _remedies(report: Report, root: Finding, lang: str) -> Iterator[str]:
    cures = [remedy for remedy in root.rule.remedies if not remedy.avoid][:REMEDIES]
    if cures:
        yield from (f"**{say(lang, 'html.remedies')}**", "")
    for number, remedy in enumerate(cures, 1):
        tags = f"{say(lang, f'risk.{remedy.risk}')}, {say(lang, f'restart.{remedy.restart}')}"
        yield f"{number}. {plain(remedy.title.get(lang))} ({tags})"
        yield ""
        for framework, text in present.changes(root.rule, remedy, report):
            if framework not in ("env", "command"):
                key = f"change.{framework}" if framework in ("config", "code") else "change.for"
                yield from (f"   {plain(say(lang, key, framework=framework))}", "")
            yield from (f"   {line}" for line in fenced([text], "sh" if framework in ("env", "command") else "text"))
            yield ""
        if told := plan_report.estimate(report, root.rule.id, remedy.id, lang):
            yield from (f"   {plain(told)}", "")
    avoided = [remedy for remedy in root.rule.remedies if remedy.avoid]
    if avoided:
        yield from (f"**{say(lang, 'html.avoid')}**", "")
    for remedy in avoided:
        why = f" — {plain(remedy.why.get(lang))}" if remedy.why else ""
        yield f"- {plain(remedy.title.get(lang))}{why}"
    yield ""


def _unexplained(report: Report, lang: str) -> Iterator[str]:
    found = present.unexplained(report)[:SIGNALS]
    if not found:
        return
    yield from ("", f"**{say(lang, 'html.unexplained')}**", "")
    quotes: list[str] = []
    for event in found:
        quotes.append(f"{event.source.path}:{event.source.line}: {excerpt(event.source.text, LONGEST)}")
        quotes += [f"  ↑ {excerpt(frame, LONGEST)}"] if (frame := present.own_frame(event)) else []
    yield from fenced(quotes)


def _change(report: Report, lang: str) -> Iterator[str]:
    """The plan's change of the job's own files."""
    files = report.edits.files if report.edits else ()
    for change in files:
        if change.diff:
            lines: Sequence[str] = change.diff.splitlines()
            yield from ("", f"**{say(lang, 'html.changes')}**: {code(change.path)}", "")
            yield from fenced(lines[:DIFF_LINES], "diff")
            if lines[DIFF_LINES:]:
                yield from ("", say(lang, "markdown.lines", n=len(lines) - DIFF_LINES))

    by_hand = plan_report.by_hand_lines(report, lang)
    yield from ("", *(f"- {plain(line)}" for line in by_hand)) if by_hand else ()


def _next(report: Report, lang: str) -> Iterator[str]:
    steps = present.next_steps(report)[:STEPS]
    if not steps:
        return
    yield from ("", f"**{say(lang, 'html.next')}**", "")
    for number, step in enumerate(steps, 1):
        answers = "|".join(key for key, _ in present.choices(step, report, lang))
        asked = f": {code(f'--answer {step.asks}={answers}')}" if answers else ""
        yield f"{number}. {plain(present.step_text(step, report, lang))}{asked}"
