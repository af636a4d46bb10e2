"""Why a rule holds, and why another does not: its condition, its signals, their weights and their sources."""

from __future__ import annotations

from difflib import get_close_matches
from typing import IO

from rich.text import Text

from doctor.engine.model import Finding, Outcome, Role, RuledOut
from doctor.messages import say
from doctor.rulebase.model import Rule
from doctor.rulebase.truth import Truth
from doctor.session.report import Report
from doctor.views import present
from doctor.views.page import Page
from doctor.views.quote import excerpt
from doctor.views.safe import visible

SYMBOLS = {Truth.TRUE: ("✓", "green"), Truth.FALSE: ("✗", "red"), Truth.UNKNOWN: ("?", "yellow")}
QUOTED = 3


class UnknownNameError(Exception):
    """No rule and no cause has the name that was asked for."""


def print_explanation(report: Report, name: str, file: IO[str], lang: str, color: bool = True) -> None:
    """Explains the rule `name`, or every rule of the cause `name`; raises UnknownNameError."""
    page = Page()
    for rule in _rules(report, name, lang):
        page.blank()
        Explanation(report, lang, page).rule(rule)
    page.print(file, color)


def _rules(report: Report, name: str, lang: str) -> list[Rule]:
    base = report.rulebase
    found = [rule for rule in base.rules.values() if name.upper() == rule.id or name in (rule.cause, rule.name)]
    if not found:
        names = [*base.rules, *(rule.cause for rule in base.rules.values()), *base.causes]
        near = get_close_matches(name, names, n=1)
        hint = say(lang, "answers.hint", name=near[0]) if near else ""
        raise UnknownNameError(say(lang, "explain.unknown", name=name, hint=hint))
    return found


class Explanation:
    def __init__(self, report: Report, lang: str, page: Page) -> None:
        self.report, self.lang, self.page = report, lang, page

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    def rule(self, rule: Rule) -> None:
        diagnosis = self.report.diagnosis
        for finding in diagnosis.findings:
            if finding.rule.id == rule.id:
                return self.found(finding)
        for other in diagnosis.ruled_out:
            if other.rule.id == rule.id:
                return self.ruled_out(other)
        self.page.wrapped(self.say("explain.idle", rule=rule.id, title=rule.title.get(self.lang)))

    def found(self, finding: Finding) -> None:
        rule, label = finding.rule, self.say(f"label.{finding.label}")
        title, belief = rule.title.get(self.lang), f"{finding.belief:.2f}"
        self.page.wrapped(
            self.say("explain.holds", rule=rule.id, title=title, label=label, belief=belief), style="bold"
        )
        place = present.where(finding, self.report, self.lang)
        self.page.wrapped(self.say("explain.where", where=place, role=self.role(finding)), indent=2)
        self.proof(rule, finding.outcomes)

    def role(self, finding: Finding) -> str:
        winners = [root.rule.id for root in self.report.diagnosis.roots if finding.rule.id in root.rivals]
        if finding.role is Role.CONTRIBUTING and winners:
            return self.say("explain.role.rival", root=self.say("list.or").join(winners))
        return self.say(f"explain.role.{finding.role}", root=finding.explained_by or "")

    def ruled_out(self, other: RuledOut) -> None:
        rule = other.rule
        seen = any(o.truth is Truth.TRUE and o.signal not in rule.condition.none for o in other.outcomes)
        title, belief = rule.title.get(self.lang), f"{other.belief:.3f}"
        key = "explain.fails" if seen else "explain.idle"
        self.page.wrapped(self.say(key, rule=rule.id, title=title, belief=belief), style="bold")
        self.page.wrapped(self.reason(other), indent=2)
        self.proof(rule, other.outcomes)

    def reason(self, other: RuledOut) -> str:
        """The one signal that decided it, else that the belief is too low."""
        truths = {outcome.signal: outcome.truth for outcome in other.outcomes}
        condition = other.rule.condition
        for name in condition.none:
            if truths[name] is Truth.TRUE:
                return self.say("explain.because.present", signal=name)
        for wanted, key in ((Truth.FALSE, "failed"), (Truth.UNKNOWN, "unknown")):
            for name in condition.all:
                if truths[name] is wanted:
                    return self.say(f"explain.because.{key}", signal=name)
            if condition.any and all(truths[name] is not Truth.TRUE for name in condition.any):
                some = [name for name in condition.any if truths[name] is wanted]
                if some:
                    return self.say(f"explain.because.{key}", signal=self.say("list.or").join(some))
        return self.say("explain.because.belief")

    def proof(self, rule: Rule, outcomes: tuple[Outcome, ...]) -> None:
        by_name = {outcome.signal: outcome for outcome in outcomes}
        used = {*rule.condition.all, *rule.condition.any, *rule.condition.none}
        groups = {
            "explain.all": rule.condition.all,
            "explain.any": rule.condition.any,
            "explain.none": rule.condition.none,
            "explain.evidence": tuple(name for name in by_name if name not in used),
        }
        self.page.wrapped(self.say("explain.prior", belief=f"{rule.prior:.3f}"), indent=2, style="dim")
        for key, names in groups.items():
            if names:
                self.page.wrapped(self.say(key), indent=2, style="dim")
            for name in names:
                self.outcome(by_name[name])

    def outcome(self, outcome: Outcome) -> None:
        symbol, style = SYMBOLS[outcome.truth]
        line = Text(f"{symbol} {self.say(f'truth.{outcome.truth.name}')}", style)
        line.append(f"  {visible(outcome.signal)}: ", "bold")
        line.append(visible(outcome.text))
        if outcome.weight:
            line.append(f"  ({self.say('explain.weight', weight=f'{outcome.weight:+.1f}')})", "dim")
        self.page.wrapped(line, indent=4, hang=4)
        for source in outcome.sources[:QUOTED]:
            place = f"{source.path}:{source.line}" if source.line else source.path
            quoted = excerpt(present.quoted(source, self.lang), max(self.page.width - 12, 20))
            self.page.wrapped(Text(visible(place), "cyan"), indent=8)
            self.page.wrapped(Text(quoted), indent=10)
        if outcome.missing:
            names = self.say("list.and").join(outcome.missing)
            self.page.wrapped(self.say("explain.needs", names=names), indent=8, style="dim")
