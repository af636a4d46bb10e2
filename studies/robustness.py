"""Does the first root stay the same when the files are edited in ways that leave the fault as it is?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from doctor.facts.model import Symptom
from doctor.rulebase.model import RuleBase
from doctor.session.analyze import analyze_paths
from doctor.session.report import Report
from studies.cases import ALARMING, Answer, source_of
from studies.table import percent, table
from tests.robustness.edits import EDITS, Files, edited, tried

MENDED = (
    "The first run of this study kept 97.7 %. Nearly all that changed came from one warning, of libibverbs about the "
    "driver of an adapter that the machine does not have; it no longer counts as a missing device. In a few copies the "
    "edit itself had changed the fault (a remark on the number of data-loading workers, the launcher's banner at the "
    "end); the generator no longer makes such edits."
)


@dataclass(slots=True)
class Tally:
    """How many edited copies were diagnosed, how many came out otherwise, by kind of edit and by case."""

    done: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    broken_kinds: Counter[str] = field(default_factory=Counter)
    broken: dict[int, Counter[str]] = field(default_factory=dict)
    blamed: Counter[str] = field(default_factory=Counter)

    @property
    def lost(self) -> int:
        return sum(sum(named.values()) for named in self.broken.values())


def subject(answer: Answer) -> Files:
    """The files of a case as the edits take them."""
    folder, report = answer.case.folder / "input", answer.report
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    text = {str(path.relative_to(folder)): path.read_bytes().decode("utf-8", "surrogateescape") for path in paths}
    logs = frozenset(given.path for given in report.inputs if given.kind == "log")
    hosts = sorted({event.host for event in report.store.events() if event.host} | set(_nodes(report)))
    ranks = {given.path: given.rank for given in report.inputs if given.rank is not None and given.path in logs}
    return Files(text, logs, tuple(hosts), ranks, _through(answer, text, logs))


def _nodes(report: Report) -> list[str]:
    return [name[5:] for name in report.store.entities("node") if name[5:] != "?"]


def _through(answer: Answer, text: dict[str, str], logs: frozenset[str]) -> dict[str, int]:
    """Per log the line through which a cut keeps: the first failure, and what the case says shows its cause."""
    specs, found = answer.report.rulebase.events, {}
    for name in logs:
        failures = [
            event.source.line
            for event in answer.report.store.events()
            if event.source.path == name and event.name in specs and specs[event.name].symptom is Symptom.FATAL
        ]
        lines = text[name].splitlines()
        shown = [
            max((i for i, line in enumerate(lines, 1) if part.strip() in line), default=0) for part in answer.case.lines
        ]
        if failures and any(shown):
            found[name] = max(min(failures), *shown)
    return found


def study(given: Sequence[Answer], base: RuleBase, copies: int) -> Tally:
    """`copies` edited copies of each case, each with one to three edits."""
    tally = Tally()
    for answer in given:
        files, want = subject(answer), verdict(answer.report)
        for copy in range(copies):
            seed = f"{answer.case.number}/{copy}"
            changed, kinds = edited(files, random.Random(seed))
            named = verdict(diagnosed(changed, base))
            tally.done += 1
            tally.kinds.update(kinds)
            if named != want:
                tally.broken_kinds.update(kinds)
                tally.broken.setdefault(answer.case.number, Counter())[named] += 1
                tally.blamed.update(_alone(files, seed, kinds, want, base))
    return tally


def _alone(files: Files, seed: str, kinds: tuple[str, ...], want: str, base: RuleBase) -> list[str]:
    """The kinds of edit that break the diagnosis by themselves, or all together if none does."""
    guilty = []
    for kind in kinds:
        changed = tried(kind, files, random.Random(f"{seed}/{kind}"))
        if changed is not None and verdict(diagnosed(changed, base)) != want:
            guilty.append(kind)
    return guilty or [" + ".join(kinds)]


def diagnosed(files: Files, base: RuleBase) -> Report:
    with TemporaryDirectory(prefix="pdoctor-") as place:
        for name, text in files.text.items():
            path = Path(place, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return analyze_paths([place], rulebase=base)


def verdict(report: Report) -> str:
    """The cause of the first root, or the verdict where nothing is alarming."""
    first = next((finding for finding in report.diagnosis.roots if finding.severity in ALARMING), None)
    return first.rule.cause if first else str(report.diagnosis.verdict)


def section(given: Sequence[Answer], base: RuleBase, copies: int) -> str:
    tally = study(given, base, copies)
    kept = tally.done - tally.lost
    by_kind = [
        (
            kind,
            tally.kinds[kind],
            percent(tally.kinds[kind] - tally.broken_kinds[kind], tally.kinds[kind]),
            tally.blamed[kind],
        )
        for kind in EDITS
    ]
    together = [(kind, count) for kind, count in sorted(tally.blamed.items()) if kind not in EDITS]
    sources = {answer.case.number: answer for answer in given}
    by_case = [
        (
            source_of(sources[number].case),
            verdict(sources[number].report),
            ", ".join(f"{named} x{count}" for named, count in sorted(names.items())),
            percent(copies - sum(names.values()), copies),
        )
        for number, names in sorted(tally.broken.items())
    ]
    return "\n".join(
        [
            f"{len(given)} cases, {copies} edited copies each, every copy with one to three edits that leave the fault "
            f"as it is (`tests/robustness/edits.py`). The first root stayed the same in **{kept} of {tally.done}** "
            f"copies ({percent(kept, tally.done)}).",
            "",
            table(("edit", "copies with it", "of these the same", "changed by it alone"), by_kind),
            "",
            "Changed only by edits together: "
            + ("; ".join(f"{kind} ({count})" for kind, count in together) or "none")
            + ".",
            "",
            MENDED,
            "",
            "Cases whose first root changed in some copy:",
            "",
            table(("case", "first root", "named in edited copies", "the same"), by_case),
        ]
    )
