"""How the job stands as text for Prometheus, version 0.0.4 of its exposition format."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import doctor
from doctor.engine.model import Role
from doctor.rulebase.model import Severity
from doctor.session.watch.model import Announcement, Kind, Status

MOST_FINDINGS, MOST_ENTITIES = 100, 16


@dataclass(frozen=True, slots=True)
class Sample:
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metric:
    """One family: `kind` is gauge or counter, `help` one sentence."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True)
class Shown:
    """What is kept of an announcement: the report that comes with it holds all that was read of an attempt."""

    key: str
    belief: float
    first_seen: float
    labels: Mapping[str, str]


@dataclass(slots=True)
class Metrics:
    """What was last heard of the job; any thread may read `text` while another one writes."""

    status: Status | None = None
    findings: dict[str, Shown] = field(default_factory=dict)
    announced: Counter[Kind] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def see(self, status: Status) -> None:
        with self._lock:
            self.status = status

    def hear(self, said: Announcement) -> None:
        with self._lock:
            self.announced[said.kind] += 1
            if said.kind is Kind.RESOLVED:
                self.findings.pop(said.text_key, None)
            elif said.kind is not Kind.STORM:
                belief = said.finding.belief if said.finding else 0.0
                self.findings[said.text_key] = Shown(said.text_key, belief, said.first_seen, _named(said))
                if len(self.findings) > MOST_FINDINGS:  # of a job that was restarted often, the first attempts go
                    del self.findings[next(iter(self.findings))]

    def text(self) -> str:
        with self._lock:
            return rendered(_families(self.status, list(self.findings.values()), dict(self.announced)))


def rendered(metrics: Iterable[Metric]) -> str:
    """The families as text; one without samples is left out."""
    lines: list[str] = []
    for metric in metrics:
        if not metric.samples:
            continue
        lines.append(f"# HELP {metric.name} {_escaped(metric.help)}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        for sample in metric.samples:
            labels = ",".join(f'{name}="{_escaped(value, True)}"' for name, value in sample.labels.items())
            lines.append(f"{metric.name}{'{' + labels + '}' if labels else ''} {_number(sample.value)}")
    return "\n".join(lines) + "\n"


def _families(status: Status | None, findings: Sequence[Shown], announced: Mapping[Kind, int]) -> Iterator[Metric]:
    yield Metric("pdoctor_info", "gauge", "The pdoctor that watches.", [Sample(1, {"version": doctor.__version__})])
    yield Metric(
        "pdoctor_announcements_total", "counter", "Announcements made, by kind.",
        [Sample(announced.get(kind, 0), {"kind": str(kind)}) for kind in Kind],
    )  # fmt: skip
    yield Metric(
        "pdoctor_finding", "gauge", "Confidence of each finding that stands, from 0 to 1.",
        [Sample(one.belief, one.labels) for one in findings],
    )  # fmt: skip
    yield Metric(
        "pdoctor_finding_first_seen_seconds", "gauge", "When each finding was first seen, since the epoch.",
        [Sample(one.first_seen, {"rule": one.labels["rule"], "key": one.key}) for one in findings],
    )  # fmt: skip
    if status is None:
        return
    yield Metric(
        "pdoctor_ranks", "gauge", "Ranks of the job, by whether they are heard.",
        [Sample(status.ranks_alive, {"state": "alive"}), Sample(status.ranks_silent, {"state": "silent"})],
    )  # fmt: skip
    for name, kind, text, value in (
        ("pdoctor_step", "gauge", "Last training step seen.", status.step),
        ("pdoctor_step_seconds", "gauge", "Time of a training step.", status.step_time),
        ("pdoctor_mfu_ratio", "gauge", "Model FLOPs utilization, from 0 to 1.", status.mfu),
        ("pdoctor_memory_used_ratio", "gauge", "Memory in use of the fullest GPU, from 0 to 1.", status.memory),
        ("pdoctor_findings", "gauge", "Findings that alarm.", status.findings),
        ("pdoctor_files", "gauge", "Files that are followed.", status.files),
        ("pdoctor_lines_total", "counter", "Lines read.", status.lines),
        ("pdoctor_bytes_total", "counter", "Bytes read.", status.bytes),
        ("pdoctor_status_time_seconds", "gauge", "When these figures were taken, since the epoch.", status.at),
    ):
        yield Metric(name, kind, text, [] if value is None else [Sample(value)])


def _named(said: Announcement) -> dict[str, str]:
    finding = said.finding
    shown = ",".join(said.entities[:MOST_ENTITIES]) or "job"
    more = len(said.entities) - MOST_ENTITIES
    labels = {
        "rule": finding.rule.id if finding else "",
        "cause": finding.rule.cause if finding else "unexplained",
        "severity": str(finding.severity if finding else Severity.FATAL),
        "role": str(finding.role if finding else Role.ROOT),
        "label": str(finding.label) if finding else "",
        "entities": shown + (f",+{more}" if more > 0 else ""),
        "key": said.text_key,
    }
    return labels if said.episode is None else {**labels, "episode": str(said.episode)}


def _escaped(text: str, quoted: bool = False) -> str:
    """As the format has it: a backslash and a line end in help, in values of labels a quotation mark as well. What
    could steer a terminal is written out."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quoted else text


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
