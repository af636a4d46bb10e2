"""The terminal interface: from the command to the first paint, and what a key takes until its paint on a large job."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from bench.reasoning import RANKS, large_job
from doctor.engine.model import Role
from doctor.facts.model import Source
from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import Material, judge
from doctor.session.answers import Answers
from doctor.session.collecting import Files
from doctor.session.item import Told
from doctor.session.report import Input
from doctor.session.session import Session
from doctor.views.tui.app import PdoctorApp

FINDINGS, LOG_BYTES, TIMES = 10_000, 100_000_000, 15
SAMPLE = Path(__file__).parents[1] / "fixtures" / "sample" / "job"
NOTHING = "nothing"
FIRST_PAINT_S, KEY_S = 1.0, 0.1
KEYS = {
    NOTHING: ("2", ["f9"] * TIMES),
    "findings: down": ("2", ["j"] * TIMES),
    "findings: page": ("2", ["pagedown"] * TIMES),
    "findings: end and begin": ("2", ["G", "g"] * (TIMES // 2)),
    "findings: filter, a letter": ("2", ["slash", "m", "e", "m", "backspace", "backspace", "backspace", "enter"]),
    "proof: another finding": ("3", ["right_square_bracket"] * TIMES),
    "all ranks": ("2", ["m", "escape"] * (TIMES // 2)),
    "plan: take or drop": ("5", ["space"] * TIMES),
}


def main() -> None:
    painted = [_first_paint() for _ in range(5)]
    print(f"first paint {statistics.median(painted):.2f} s after the command (median of 5; limit {FIRST_PAINT_S} s)")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "rank_3.log"
        log.write_bytes((b"[rank3]: iteration 10 of the job, all is well so far\n" * 20)[:1000] * (LOG_BYTES // 1000))
        measured = asyncio.run(_keys(log))
        idle = statistics.median(measured.pop(NOTHING))
        print(f"a key that does nothing: {idle * 1e3:.0f} ms of processor time, the harness; it is taken off below")
        for name, whole in measured.items():
            took = [max(seconds - idle, 0.0) for seconds in whole]
            worst = max(took)
            print(f"{name:28} median {statistics.median(took) * 1e3:5.0f} ms, worst {worst * 1e3:5.0f} ms")
        print(f"({FINDINGS:,} findings, {RANKS:,} ranks, a log of {LOG_BYTES // 10**6} MB; limit {KEY_S * 1e3:.0f} ms)")


def _first_paint() -> float:
    """Seconds from starting the process until the bar of steps is written to its terminal."""
    begin = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="120", LINES="40")
        os.execv(sys.executable, [sys.executable, "-m", "doctor", "ui", str(SAMPLE)])
    seen = b""
    while b"Findings" not in seen:
        select.select([terminal], [], [])
        seen += os.read(terminal, 65536)
    took = time.perf_counter() - begin
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # the process has gone
        pass
    os.waitpid(pid, 0)
    return took


async def _keys(log: Path) -> dict[str, list[float]]:
    """Processor seconds of each key until everything it changes is painted."""
    app = PdoctorApp(_Known(_session(log)), Answers())
    found: dict[str, list[float]] = {}
    async with app.run_test(size=(120, 40)) as pilot:
        app.update(_session(log))
        for name, (step, keys) in KEYS.items():
            await pilot.press(step)
            await pilot.pause()
            took = [(key, await _pressed(pilot, key)) for key in keys]
            found[name] = [seconds for key, seconds in took if key != "escape"]
        await pilot.press("3", "tab", "tab")
        await pilot.pause()
        found["log of 100 MB: to its end"] = [await _pressed(pilot, "G")]
        found["log of 100 MB: page"] = [await _pressed(pilot, "pageup") for _ in range(TIMES)]
    return found


async def _pressed(pilot: Pilot[int], key: str) -> float:
    """Seconds of processor time: the harness waits between what a key does, and others may want the cores."""
    begin = time.process_time()
    await pilot.press(key)
    await pilot.pause()
    return time.process_time() - begin


def _session(log: Path) -> Session:
    """The job of 1,024 ranks, with its findings under other ids up to 10,000."""
    loaded = load_rulebase()
    store = large_job()
    place = Input(log.name, "log", LOG_BYTES, 3, None, (), str(log))
    material = Material(loaded, (place,), tuple(store.facts()), tuple(store.events()), ())
    report = judge(material, Answers())
    findings = list(report.diagnosis.findings)
    first = findings[0]
    source = Source("log", log.name, LOG_BYTES // 60, "all is well")
    outcomes = (replace(first.outcomes[0], sources=(source,)), *first.outcomes[1:])
    while len(findings) < FINDINGS:
        rule = replace(first.rule, id=f"{first.rule.id}-{len(findings)}")
        findings.append(replace(first, rule=rule, role=Role.ROOT, outcomes=outcomes))
    rules = {**report.rulebase.rules, **{f.rule.id: f.rule for f in findings}}
    whole = replace(report, diagnosis=replace(report.diagnosis, findings=tuple(findings)))
    return Session(material, Answers(), replace(whole, rulebase=replace(whole.rulebase, rules=rules)))


class _Known(Files):
    """Gives what is there already."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.material.loaded, ("job",))

    def collect(self, told: Told) -> Material:
        time.sleep(3600)
        raise AssertionError


if __name__ == "__main__":
    main()
