"""What was looked at, and what could not be and why."""

from __future__ import annotations

from doctor.facts.model import Fact, Quality, fact_spec
from doctor.facts.ranks import MOST_NAMES, ranges
from doctor.messages import TEXTS, say, say_count
from doctor.messages_probes import translated
from doctor.rulebase.errors import RuleError
from doctor.session.report import Report
from doctor.views import plan_report
from doctor.views.present import names_of, places, ranks_seen, size


def checked(report: Report, lang: str) -> list[str]:
    """What was looked at."""
    lines: list[str] = []
    logs = [given for given in report.inputs if given.kind == "log"]
    if logs:
        lines.append(say_count(lang, "checked.log", len(logs), size=size(sum(given.bytes for given in logs))))
    if ranks := ranks_seen(report):
        lines.append(say_count(lang, "checked.ranks", len(ranks), names=ranges(ranks)))
    ends = ("run.first_step", "run.last_step")
    steps = [fact.value for fact in report.store.facts() if fact.name in ends and isinstance(fact.value, int)]
    if steps:
        lines.append(say(lang, "checked.steps", first=min(steps), last=max(steps)))
    for kind in ("config", "dump", "table"):
        paths = [given.path for given in report.inputs if given.kind == kind]
        if paths:
            lines.append(say_count(lang, f"checked.{kind}", len(paths), names=names_of(paths)))
    probes = [given for given in report.inputs if given.kind == "probe"]
    looked = [given.path.removeprefix("probe ") for given in probes]
    if hosts := list(dict.fromkeys(given.host for given in probes if given.host)):
        lines.append(say_count(lang, "checked.hosts", len(hosts), probes=len(looked), names=names_of(hosts)))
    elif looked:
        lines.append(say_count(lang, "checked.probe", len(looked), names=", ".join(looked)))
    recorded = [given for given in report.inputs if given.kind == "flight_recorder"]
    if recorded:
        lines.append(
            say_count(lang, "checked.flight_recorder", len(recorded), size=size(sum(g.bytes for g in recorded)))
        )
    traces = [given for given in report.inputs if given.kind == "trace"]
    if traces:
        lines.append(say_count(lang, "checked.trace", len(traces), size=size(sum(g.bytes for g in traces))))
    for kind in ("recording", "memory_snapshot", "expert_loads", "stacks", "nsys", "what_if"):
        given_so = [given for given in report.inputs if given.kind == kind]
        if given_so:
            lines.append(say_count(lang, f"checked.{kind}", len(given_so), size=size(sum(g.bytes for g in given_so))))
    base = report.rulebase
    areas = len({rule.area for rule in base.rules.values()})
    facts = sum(1 for _ in report.store.facts())
    counts = {"rules": len(base.rules), "areas": areas, "events": len(base.events), "facts": facts}
    return [*lines, say(lang, "checked.rules", **counts)]


def not_checked(report: Report, lang: str) -> list[tuple[str, str]]:
    """What could not be looked at, and why: facts nobody supplied, facts that failed, rule files left out."""
    wanted: dict[str, list[str]] = {}
    logs_read = any(given.kind == "log" for given in report.inputs)
    for name in report.diagnosis.missing:
        if name.startswith("event:") and logs_read:
            continue  # logs were read: what is not known of the message is when it came, not whether
        spec = fact_spec(report.rulebase.catalogue, name)
        if spec is None and not name.startswith("event:"):
            continue  # a field that this version of the message does not have
        provider = next(iter(spec.providers), "") if spec else "log"
        # computed, or nothing that could have been handed over
        if not provider.startswith("derive") and provider not in ("question", "attach"):
            wanted.setdefault(_provider(provider), []).append(name.removeprefix("event:"))
    failures = [fact for fact in report.store.facts() if fact.quality is Quality.FAILED]
    looked = any(given.kind == "probe" for given in report.inputs)
    lines = [_failed(fact, lang) for fact in failures] if looked else []
    for key, names in wanted.items():
        more = len(names) - MOST_NAMES
        shown = ", ".join(names[:MOST_NAMES])
        why = say(lang, "missing.why.some", names=shown, n=more) if more > 0 else say(lang, "missing.why", names=shown)
        lines.append((say(lang, key), why))
    lines += [] if looked else [_failed(fact, lang) for fact in failures]
    told = report.planned is None and _provider("job_config") in wanted  # that there is no configuration
    lines += [pair for pair in (plan_report.gap(report, lang),) if pair and not told]
    by_file: dict[str, list[RuleError]] = {}
    for problem in report.problems:
        by_file.setdefault(problem.path, []).append(problem)
    for path, problems in by_file.items():
        first, more = problems[0], len(problems) - 1
        place = f"{first.line}:{first.column}: " if first.line else ""
        why = place + first.message + (say(lang, "rules.more", n=more) if more else "")
        lines.append((say(lang, "rules.left_out", path=path), why))
    return lines


def _failed(fact: Fact, lang: str) -> tuple[str, str]:
    return say(lang, "failed.fact", name=fact.name, where=places([fact.entity], lang)), translated(
        str(fact.value), lang
    )


def _provider(name: str) -> str:
    """The message key of who could have supplied a fact."""
    key = f"provider.{name}"
    return key if key in TEXTS else "provider.other"
