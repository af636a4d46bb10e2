"""The report as text, for a person who is tired: the answer first, then the proof, the fix, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import IO

from rich.text import Text

from doctor.engine.model import Finding, Follow, Label, Role, Verdict
from doctor.facts.model import Event, Source
from doctor.facts.ranks import ranges
from doctor.messages import say, say_count
from doctor.rulebase.model import Remedy
from doctor.session.gpu_memory import memory_by_gpu
from doctor.session.heat import heat_of
from doctor.session.held import memory_of
from doctor.session.pictures import pictures_of
from doctor.session.rank_map import rank_map_of
from doctor.session.report import Report
from doctor.session.stack_tree import stacks_of
from doctor.session.wait_graph import wait_graph_of
from doctor.views import coverage, plan_report, present
from doctor.views.bars import draw
from doctor.views.gpu_memory import draw_gpu_memory
from doctor.views.heat import draw_heat
from doctor.views.page import Page
from doctor.views.proofs import proofs
from doctor.views.quote import excerpt
from doctor.views.rank_map import draw_ranks
from doctor.views.related import Related
from doctor.views.safe import visible, visible_lines
from doctor.views.stack_tree import draw_stacks
from doctor.views.waits import draw_waits

COLUMN = 13
"""Where texts begin beside their headings."""

STYLES = {"fatal": "bold red", "degraded": "bold yellow", "risk": "cyan", "info": "dim"}
VERDICTS = {
    Verdict.HEALTHY: ("✓", "bold green"),
    Verdict.PROBLEM: ("✗", "bold red"),
    Verdict.UNDETERMINED: ("?", "bold yellow"),
}

QUOTED_SIGNALS, LISTED_FOLLOWS, LISTED_RIVALS, LISTED_STEPS, LISTED_UNEXPLAINED, LISTED_GAPS = 4, 6, 3, 3, 5, 4
FIRST_QUOTE, FURTHER_QUOTES, ALL_OF_QUOTE = 6, 2, 40
"""Lines a quoted log line may take: the decisive one is read whole, the others are recognised."""


def print_report(
    report: Report, file: IO[str], lang: str, verbose: bool = False, color: bool = True, facts: bool = False
) -> None:
    """Writes the report to `file`; `verbose` leaves nothing out, `facts` adds all that is known of the job."""
    TextReport(report, lang, verbose, Page()).compose(facts).print(file, color)


class TextReport:
    """Composes the page, one part after the other."""

    def __init__(self, report: Report, lang: str, verbose: bool, page: Page) -> None:
        self.report, self.lang, self.verbose, self.page = report, lang, verbose, page
        self.labelled: dict[Source, Event] = {}
        """The events that quoted lines are of, filled as findings are told."""

    @cached_property
    def related(self) -> Related:
        return Related(self.report)

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    def compose(self, facts: bool = False) -> Page:
        diagnosis = self.report.diagnosis
        self.verdict()
        for finding in diagnosis.roots:
            self.root(finding)
        self.unexplained()
        told = {rule for root in diagnosis.roots for rule in root.rivals}
        self.also([f for f in diagnosis.findings if f.role is Role.CONTRIBUTING and f.rule.id not in told])
        self.plan()
        held = memory_of(self.report.store)
        for picture in (*pictures_of(self.report.store), *([held] if held else ())):
            draw(self.page, picture, self.lang, self.verbose)
        draw_gpu_memory(self.page, memory_by_gpu(self.report.store), self.lang, self.verbose)
        if (heat := heat_of(self.report.store)) is not None:
            draw_heat(self.page, heat, self.lang, self.verbose)
        if self.verbose:
            self.ranks()
        self.next_steps()
        self.remarks()
        if facts:
            self.facts()
        return self.page

    def verdict(self) -> None:
        verdict = self.report.diagnosis.verdict
        symbol, style = VERDICTS[verdict]
        line = Text(f"{symbol} {self.say(f'verdict.{verdict}')}", style)
        line.append("  ")
        line.append(visible(present.headline(self.report, self.lang)), "bold")
        self.page.wrapped(line, hang=2)

    def root(self, finding: Finding) -> None:
        rule, page = finding.rule, self.page
        page.blank()
        severity = str(finding.severity)
        line = Text(f"{present.SYMBOLS[severity]} {self.say(f'severity.{severity}')}", STYLES[severity])
        line.append(f"  {visible(rule.id)}  ", "dim")
        line.append(visible(rule.title.get(self.lang)), "bold")
        line.append(f"  [{self.say(f'label.{finding.label}')} {finding.belief:.2f}]", "dim")
        page.wrapped(line, hang=2)
        page.beside(self.say("head.where"), present.where(finding, self.report, self.lang), COLUMN)
        page.beside(self.say("head.why"), rule.because.get(self.lang), COLUMN)
        self.evidence(finding)
        self.follows(finding)
        self.remedies(finding)
        self.rivals(finding)

    def evidence(self, finding: Finding) -> None:
        """One line for each signal that holds; all lines when asked."""
        self._label(event for outcome in finding.outcomes for event in outcome.events)
        quoted: set[Source] = set()
        head, hidden = self.say("head.evidence"), 0
        for position, outcome in enumerate(proofs(finding)):
            fresh = [source for source in outcome.sources if source not in quoted]
            if position >= QUOTED_SIGNALS and not self.verbose:
                hidden += len(fresh)
                continue
            chosen = fresh if self.verbose else fresh[:1]
            for source in chosen:
                self.quote(head, source, FURTHER_QUOTES if quoted else FIRST_QUOTE)
                head = ""
            quoted.update(fresh)
            if note := outcome.note.get(self.lang):
                self.page.beside("", f"→ {note}", COLUMN, style="italic")
            if chosen and (more := self._alike(outcome.events, len(fresh) - len(chosen))):
                self.page.beside("", more, COLUMN, style="dim")
        if hidden:
            self.page.beside("", say_count(self.lang, "evidence.hidden", hidden), COLUMN, style="dim")

    def _label(self, events: Iterable[Event]) -> None:
        self.labelled.update((source, event) for event in events for source in (event.source, *event.context))

    def _alike(self, events: Sequence[Event], sources: int = 0) -> str:
        """How many more lines like the one shown there are, and on which ranks; of facts, how many more sources."""
        count = len(events) - 1 if events else sources
        if count < 1 or self.verbose:
            return ""
        ranks = {f"rank:{event.rank}" for event in events if event.rank is not None}
        if not ranks:
            return self.say("evidence.more_files", n=count)
        return self.say("evidence.more", n=count, where=present.places(ranks, self.lang))

    def quote(self, head: str, source: Source, lines: int) -> None:
        """One line of proof: its place, then the line itself, cut around what was matched to so many lines."""
        event = self.labelled.get(source)
        place = f"{source.path}:{source.line}" if source.line else source.path or source.kind
        tags = [present.places([f"rank:{event.rank}"], self.lang)] if event and event.rank is not None else []
        tags += [event.host] if event and event.host else []
        self.page.beside(head, Text(visible("  ".join([place, *tags])), "cyan"), COLUMN)
        if source.text:
            spec = self.report.rulebase.events.get(event.name) if event else None
            room = (self.page.width - COLUMN - 2) * (ALL_OF_QUOTE if self.verbose else lines)
            said = present.quoted(source, self.lang)
            self.page.beside("", excerpt(said, room, spec.patterns if spec else ()), COLUMN + 2)
        if event and event.source == source and event.context and not self.verbose:
            innermost = present.own_frame(event) or event.context[-1].text
            self.page.beside("", f"↑ {excerpt(innermost, 2 * (self.page.width - COLUMN - 4))}", COLUMN + 2, style="dim")

    def follows(self, finding: Finding) -> None:
        lines = [self._effect(effect) for effect in self.related.effects(finding)]
        lines += [self._follow(follow) for follow in finding.follows]
        limit = len(lines) if self.verbose else LISTED_FOLLOWS
        head = self.say("head.follows")
        for line in lines[:limit]:
            self.page.beside(head, f"└ {line}", COLUMN)
            head = ""
        if len(lines) > limit:
            self.page.beside("", self.say("follows.hidden", n=len(lines) - limit), COLUMN, style="dim")

    def _effect(self, effect: Finding) -> str:
        title, place = effect.rule.title.get(self.lang), present.where(effect, self.report, self.lang)
        return self.say("summary.roots", title=f"{effect.rule.id} {title}", where=place)

    def _follow(self, follow: Follow) -> str:
        what = present.event_meaning(self.report, follow.event, self.lang)
        if len(follow.ranks) > 1:
            names = ranges(follow.ranks)
            place = self.say("place.count", n=len(follow.ranks), names=names)
        elif follow.ranks:
            place = present.places([f"rank:{follow.ranks[0]}"], self.lang)
        else:
            place = f"{follow.first.path}:{follow.first.line}"
        key = "follows.many" if follow.count > max(len(follow.ranks), 1) else "follows.one"
        text = self.say(key, where=place, what=what, count=follow.count)
        if follow.lag is not None and follow.lag >= 1:
            text += self.say("follows.lag", seconds=present.seconds(follow.lag, self.lang))
        return text

    def remedies(self, finding: Finding) -> None:
        cures = [remedy for remedy in finding.rule.remedies if not remedy.avoid]
        for number, remedy in enumerate(cures, 1):
            head = f"{self.say('head.fix')} {number}" if len(cures) > 1 else self.say("head.fix")
            tags = [self.say(f"risk.{remedy.risk}"), self.say(f"restart.{remedy.restart}")]
            line = Text(visible(remedy.title.get(self.lang)), "bold green")
            line.append(f"  ({' · '.join(tags)})", "dim")
            self.page.beside(head, line, COLUMN)
            self.change(finding, remedy)
            if told := plan_report.estimate(self.report, finding.rule.id, remedy.id, self.lang):
                self.page.beside("", told, COLUMN, style="dim")
        for remedy in finding.rule.remedies:
            if remedy.avoid:
                title, why = remedy.title.get(self.lang), remedy.why
                text = self.say("avoid.why", title=title, why=why.get(self.lang)) if why else title
                self.page.beside(self.say("head.avoid"), text, COLUMN)

    def change(self, finding: Finding, remedy: Remedy) -> None:
        """What to change, each line whole and undecorated: it is there to be copied."""
        for framework, text in present.changes(finding.rule, remedy, self.report):
            if framework not in ("env", "command"):
                key = f"change.{framework}" if framework in ("config", "code") else "change.for"
                self.page.beside("", self.say(key, framework=framework), COLUMN, style="dim")
            for line in visible_lines(text):
                self.page.raw(line, COLUMN + 2)

    def rivals(self, finding: Finding) -> None:
        if finding.label is Label.CERTAIN and not finding.rivals and not self.verbose:
            return
        told = self.related.rivals(finding, self.lang)
        head = self.say("head.rivals")
        for rule, how, belief in told if self.verbose else told[:LISTED_RIVALS]:
            title = self.report.rulebase.rules[rule].title.get(self.lang)
            share = f" [{belief:.2f}]" if belief is not None else ""
            name = f"{rule} {title}{share}"
            self.page.beside(head, self.say("rival.how", name=name, how=how) if how else name, COLUMN)
            head = ""

    def unexplained(self) -> None:
        self._label(self.report.diagnosis.unexplained)
        alike: dict[str, list[Event]] = {}
        for event in present.unexplained(self.report):
            alike.setdefault(event.name, []).append(event)
        if alike:
            self.page.blank()
        head = self.say("head.unexplained")
        for same in list(alike.values())[: None if self.verbose else LISTED_UNEXPLAINED]:
            self.quote(head, same[0].source, FURTHER_QUOTES)
            head = ""
            if more := self._alike(same):
                self.page.beside("", more, COLUMN, style="dim")

    def also(self, findings: list[Finding]) -> None:
        if not findings:
            return
        self.page.blank()
        self.page.wrapped(self.say("head.also"), style="dim")
        for finding in findings:
            severity = str(finding.severity)
            line = Text("  ").append(
                f"{present.SYMBOLS[severity]} {self.say(f'severity.{severity}')}", STYLES[severity]
            )
            line.append(f"  {visible(finding.rule.id)} {visible(finding.rule.title.get(self.lang))}")
            line.append(f"  [{self.say(f'label.{finding.label}')} {finding.belief:.2f}]", "dim")
            self.page.wrapped(line, hang=4)

    def plan(self) -> None:
        """Several remedies as one change."""
        by_hand = plan_report.by_hand_lines(self.report, self.lang)
        lines = plan_report.together(self.report, self.lang)
        if lines or by_hand:
            self.page.blank()
        head = self.say("plan.head.plan")
        for line in lines:
            self.page.beside(head, line, COLUMN, indent=0)
            head = ""
        if lines and self.report.edits:
            from doctor.views.plan_text import show_files

            show_files(self.page, self.report.edits.files, self.lang, "", COLUMN)
        for line in by_hand:
            self.page.beside(head, line, COLUMN, indent=0)
            head = ""

    def ranks(self) -> None:
        if (graph := wait_graph_of(self.report.store)) is not None:
            draw_waits(self.page, graph, self.lang, everything=True)
        if (ranks := rank_map_of(self.report)) is not None:
            draw_ranks(self.page, ranks, self.lang, everything=True)
        if tree := stacks_of(self.report.store):
            draw_stacks(self.page, tree, self.lang)

    def next_steps(self) -> None:
        steps = present.next_steps(self.report)
        if not steps:
            return
        self.page.blank()
        head = self.say("head.next")
        for number, step in enumerate(steps if self.verbose else steps[:LISTED_STEPS], 1):
            self.page.beside(head, f"{number}. {present.step_text(step, self.report, self.lang)}", COLUMN, indent=0)
            if answers := present.choices(step, self.report, self.lang):
                each = [key if key == text else f"{key} ({text})" for key, text in answers]
                shown = self.say("list.choices").join(each)
                self.page.beside("", self.say("next.answer", question=step.asks, answers=shown), COLUMN + 3)
            if len(step.separates) > 1:
                causes = say(self.lang, "list.apart").join(
                    present.cause_title(self.report, c, self.lang) for c in step.separates
                )
                self.page.beside("", self.say("next.separates", causes=causes), COLUMN + 3, style="dim")
            head = ""

    def remarks(self) -> None:
        """What was looked at when nothing was found, what could not be, and what was wrong with the input."""
        healthy = self.report.diagnosis.verdict != "problem"
        gaps = coverage.not_checked(self.report, self.lang)
        missing = [self.say("missing.line", what=what, why=why) for what, why in gaps]
        if len(missing) > LISTED_GAPS and not self.verbose:
            missing[LISTED_GAPS:] = [self.say("gaps.hidden", n=len(missing) - LISTED_GAPS)]
        blocks = {
            "head.checked": coverage.checked(self.report, self.lang) if healthy or self.verbose else [],
            "head.not_checked": missing,
            "head.warnings": present.warnings(self.report, self.lang),
        }
        for key, lines in blocks.items():
            if lines:
                self.page.blank()
            head = self.say(key)
            for line in lines:
                self.page.beside(head, line, COLUMN, indent=0, style="" if key == "head.warnings" else "dim")
                head = ""

    def facts(self) -> None:
        """Everything that is known, one fact a line, with where it was read."""
        self.page.blank()
        self.page.wrapped(self.say("head.facts"), style="dim")
        for fact in sorted(self.report.store.facts(), key=lambda f: (f.name, f.entity)):
            place = (
                f"{fact.source.path}:{fact.source.line}" if fact.source.line else fact.source.path or fact.source.kind
            )
            line = Text(visible(f"{fact.name} = {present.value(fact.value)}"))
            line.append(visible(f"  {fact.entity}"), "cyan").append(visible(f"  {place}"), "dim")
            self.page.wrapped(line, indent=2, hang=4)
