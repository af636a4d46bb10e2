"""A few events to read logs with, independent of the rule base."""

from __future__ import annotations

from doctor.facts.model import EventSpec, Symptom

OOM = EventSpec(
    "oom",
    (r"out of memory\. Tried to allocate (?P<requested>[\d.]+ (?:[KMGT]iB|bytes))", r"std::bad_alloc happened"),
    {"requested": "bytes"},
    Symptom.FATAL,
)
STEP = EventSpec(
    "step",
    (r"iteration +(?P<step>\d+)/ *\d+ .{0,80}time per iteration \(ms\): (?P<step_time_ms>[\d.]+)",),
    {"step": "int", "step_time_ms": "float"},
    phase="training",
)
TIMEOUT = EventSpec(
    "timeout",
    (r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)",),
    {"seq": "int"},
    Symptom.FATAL,
)
TERM = EventSpec("term", (r"closing signal SIGTERM",), symptom=Symptom.FATAL, follows=True)
NETWORK = EventSpec("network", (r"Using network (?P<network>\w+)",))
BUCKET = EventSpec("bucket", (r"Reduce bucket size (?P<size>[\d,]+)",), {"size": "int"})
BAR = EventSpec(
    "progress.bar",
    (
        r"(?:(?P<label>[^|%\r\n]{2,100}): +)?\d{1,3}%\|.{0,80}\| (?P<step>\d+)/\d+ \[.{0,40} (?P<step_time_s>[\d.]+)s/it\]",
    ),
    {"step": "int", "step_time_s": "float"},
)
ALL = (OOM, STEP, TIMEOUT, TERM, NETWORK, BUCKET, BAR)
