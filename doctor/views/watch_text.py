"""What a watched job gives as text: one line for how it stands, a few for each finding as it comes."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.text import Text

from doctor.engine.model import Finding, Role
from doctor.facts.model import Source
from doctor.messages import say, say_count
from doctor.session.notes import Note
from doctor.session.watch.model import Announcement, Kind, Status
from doctor.session.watch.telling import first_unexplained
from doctor.views import present
from doctor.views.page import Page
from doctor.views.proofs import proofs
from doctor.views.quote import excerpt
from doctor.views.safe import visible
from doctor.views.text import STYLES

COLUMN = 13
QUOTED = 2
"""Lines that a quoted line may take."""

BETWEEN = " · "


def status_line(status: Status, lang: str) -> str:
    """How the job stands, in one line; what is not known is left out."""
    return visible(BETWEEN.join([clock(status.at), *standing(status, lang), read(status, lang)]))


def standing(status: Status, lang: str) -> list[str]:
    """Ranks, step, speed, memory and findings, as far as they are known."""
    parts = []
    ranks = status.ranks_alive + status.ranks_silent
    if ranks:
        silent = f" ({say(lang, 'watch.silent', n=status.ranks_silent)})" if status.ranks_silent else ""
        parts.append(say_count(lang, "watch.ranks", ranks) + silent)
    if status.step is not None:
        parts.append(say(lang, "watch.step", n=f"{status.step:,}"))
    if status.step_time is not None:
        parts.append(say(lang, "watch.step_time", value=_seconds(status.step_time, lang)))
    if status.mfu is not None:
        parts.append(say(lang, "watch.mfu", value=f"{status.mfu:.0%}"))
    if status.memory is not None:
        parts.append(say(lang, "watch.memory", value=f"{status.memory:.0%}"))
    return [*parts, _judged(status, lang)]


def _judged(status: Status, lang: str) -> str:
    """What is wrong, which nobody can say before there is a line."""
    if status.findings:
        return say_count(lang, "watch.findings", status.findings)
    if status.unexplained:
        return say(lang, "watch.unexplained")
    if status.lines:
        return say(lang, "watch.nothing_found")
    if status.bytes:
        return say(lang, "watch.no_line_yet", size=present.size(status.bytes))
    return say(lang, "watch.silent_yet")


def read(status: Status, lang: str) -> str:
    """How much was read."""
    return f"{counted(lang, 'watch.lines', status.lines)}, {counted(lang, 'watch.files', status.files)}"


def counted(lang: str, key: str, count: int) -> str:
    return say(lang, f"{key}.{'one' if count == 1 else 'many'}", n=f"{count:,}")


def announce(said: Announcement, lang: str, page: Page | None = None) -> Page:
    """An announcement: what, where, the line that shows it best, the first fix."""
    page = page or Page()
    page.wrapped(headline(said, lang), hang=2)
    if said.kind in (Kind.STORM, Kind.RESOLVED):
        return page
    if said.finding is None:
        _unexplained(said, lang, page)
    else:
        _finding(said, said.finding, lang, page)
    return page


def headline(said: Announcement, lang: str) -> Text:
    """What an announcement says, in one line."""
    if said.kind is Kind.STORM:
        return _storm(said, lang)
    finding = said.finding
    if finding is None:
        line = _head(said, present.SYMBOLS["fatal"], STYLES["fatal"], say(lang, "severity.fatal"), lang)
        return line.append(f"  {say(lang, 'attach.unexplained')}", "bold")
    rule, severity = finding.rule, str(finding.severity)
    if said.kind is Kind.RESOLVED:
        return _resolved(said, finding, lang)
    line = _head(said, present.SYMBOLS[severity], STYLES[severity], say(lang, f"severity.{severity}"), lang)
    line.append(f"  {visible(rule.id)}  ", "dim").append(visible(rule.title.get(lang)), "bold")
    return line.append(f"  [{say(lang, f'label.{finding.label}')} {finding.belief:.2f}]", "dim")


def _head(said: Announcement, symbol: str, style: str, severity: str, lang: str) -> Text:
    line = Text(f"{clock(said.at)} ", "dim").append(f"{symbol} {severity}", style)
    if said.kind is Kind.UPDATED:
        line.append(f" ({say(lang, 'watch.updated')})", style)
    return line.append(_attempt(said, lang), "dim")


def _attempt(said: Announcement, lang: str) -> str:
    return "" if said.episode is None else f"  {say(lang, 'watch.episode', n=said.episode)}"


def _resolved(said: Announcement, finding: Finding, lang: str) -> Text:
    """What is over needs no more than a line: of what, and of which ranks where they were named."""
    line = Text(f"{clock(said.at)} ", "dim").append(f"✓ {say(lang, 'watch.resolved')}", "bold green")
    line.append(_attempt(said, lang), "dim")
    line.append(f"  {visible(finding.rule.id)}  ", "dim").append(visible(finding.rule.title.get(lang)))
    ranks = [entity for entity in said.entities if entity.startswith("rank:")]
    return line.append(f"  ({present.places(ranks, lang)})" if ranks else "", "dim")


def _storm(said: Announcement, lang: str) -> Text:
    follows = said.finding.follows if said.finding else ()
    ranks = {f"rank:{rank}" for follow in follows for rank in follow.ranks}
    where = present.places(sorted(ranks), lang) if ranks else ""
    text = say(lang, "watch.storm" if where else "watch.storm_alone", n=f"{said.count:,}", where=where)
    line = Text(f"{clock(said.at)} ", "dim")
    line.append(f"└ {visible(said.finding.rule.id) if said.finding else ''}  ", "dim")
    return line.append(visible(text))


def _finding(said: Announcement, finding: Finding, lang: str, page: Page) -> None:
    page.beside(say(lang, "head.where"), present.where(finding, said.report, lang), COLUMN)
    if finding.role is Role.CONSEQUENCE and finding.explained_by:
        page.beside("", say(lang, "watch.now_follows", rule=finding.explained_by), COLUMN)
    if shown := proofs(finding):
        best = shown[0]
        specs = said.report.rulebase.events
        patterns = next((specs[event.name].patterns for event in best.events if event.name in specs), ())
        _quote(best.sources[0], patterns, lang, page)
        if note := best.note.get(lang):
            page.beside("", f"→ {note}", COLUMN, style="italic")
    cure = next((remedy for remedy in finding.rule.remedies if not remedy.avoid), None)
    if said.kind is Kind.NEW and cure is not None:
        page.beside(say(lang, "head.fix"), Text(visible(cure.title.get(lang)), "bold green"), COLUMN)


def _unexplained(said: Announcement, lang: str, page: Page) -> None:
    page.beside(say(lang, "head.where"), present.places(said.entities, lang), COLUMN)
    if said.report.diagnosis.unexplained:
        event = first_unexplained(said.report)
        spec = said.report.rulebase.events.get(event.name)
        _quote(event.source, spec.patterns if spec else (), lang, page)
        if frame := present.own_frame(event):
            page.beside("", f"↑ {excerpt(frame, 2 * (page.width - COLUMN - 4))}", COLUMN + 2, style="dim")


def _quote(source: Source, patterns: tuple[str, ...], lang: str, page: Page) -> None:
    place = f"{source.path}:{source.line}" if source.line else source.path or source.kind
    page.beside(say(lang, "head.evidence"), Text(visible(place), "cyan"), COLUMN)
    if source.text:
        room = (page.width - COLUMN - 2) * QUOTED
        page.beside("", excerpt(present.quoted(source, lang), room, patterns), COLUMN + 2)


def noted(note: Note, at: float, lang: str) -> Text:
    """A remark, in one line."""
    return Text(f"{clock(at)} ", "dim").append(f"! {visible(present.note_text(note, lang))}", "yellow")


def clock(at: float) -> str:
    """The time of day, by the clock of who looks."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")


def _seconds(value: float, lang: str) -> str:
    return f"{value:.2f} {say(lang, 'unit.s')}" if value < 10 else present.seconds(value, lang)
