"""`pdoctor attach`: sits beside a running job and says what goes wrong when it goes wrong, or before."""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doctor.cli import options
from doctor.cli.acts import Acts, acts
from doctor.cli.main import FOUND, UNDETERMINED
from doctor.cli.settings import SEVERITIES
from doctor.messages import say
from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import STDIN
from doctor.session.inputs import InputError
from doctor.session.notes import Note

if TYPE_CHECKING:
    from doctor.session.watch.acting import Acting
    from doctor.session.watch.follow import Following
    from doctor.session.watch.model import Announcement, Remark
    from doctor.session.watch.watch import Watch

QUIET = 60.0
"""Seconds without a line after which a job is over that nothing else tells the end of (--once-done)."""

LAST_WORDS = 2.0
"""Seconds for which what a job has ended with is waited for."""

MINUTE = 60.0

WRITTEN = ("jsonl", "metrics_file", "state")
"""Options whose files the watch writes."""

MOST_NOTES = 1000
"""Remarks that may wait to be shown."""


@click.command(no_args_is_help=True)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--pid", "pids", multiple=True, type=click.IntRange(min=1), help="Follow what this process writes.")
@click.option("--slurm", metavar="JOBID", help="Follow the outputs of a Slurm job.")
@click.option("--interval", type=click.FloatRange(0.05, 60), default=0.25, show_default=True, help="Seconds of a turn.")
@click.option("--for", "seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="End after so many seconds.")
@click.option("--tui", is_flag=True, help="Watch on the screen: findings come as they are told, to walk through.")
@click.option("--once-done", is_flag=True, help="End when no line has come for a minute, too.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="degraded",
    show_default=True,
    help="Exit with 1 for root causes of this severity or graver.",
)
@acts
@options.rules
@options.lang
@options.no_color
@options.quiet
def attach(
    targets: tuple[str, ...],
    pids: tuple[int, ...],
    slurm: str | None,
    interval: float,
    seconds: float | None,
    tui: bool,
    once_done: bool,
    fail_on: str,
    rules: tuple[Path, ...],
    lang: str,
    no_color: bool,
    quiet: bool,
    **asked: Any,
) -> int:
    """Watch a job that runs, and say what goes wrong as it happens.

    TARGET is a log, a pattern such as 'logs/rank*.log', a folder (torchrun --log-dir, Slurm outputs), or - for a pipe.
    Files may come later, grow, be rotated, cut and replaced. It ends with a summary when the job has ended (its
    processes are gone, Slurm says so, the pipe is closed), or at Ctrl-C.
    """  # fmt: skip
    from doctor.session.watch import own
    from doctor.session.watch.clock import steady
    from doctor.session.watch.follow import follow
    from doctor.session.watch.watch import Watch

    if not (targets or pids or slurm):
        raise click.UsageError(say(lang, "watch.nothing"))
    stdin = sys.stdin.buffer if STDIN in targets and sys.stdin is not None else None
    screen, clock = Screen(lang, not no_color, quiet), steady()
    named = [*targets, *(f"--pid {pid}" for pid in pids), *([f"--slurm {slurm}"] if slurm else [])]
    written = {name.replace("_", "-"): asked[name] for name in WRITTEN if asked[name] is not None}
    try:
        own.check(written, targets)
        wanted = Acts.of(asked, named, screen.hear)
        following = follow(targets, pids, slurm, stdin, wanted.kept.marks, clock, [*written.values()])
        watch = Watch(load_rulebase(rules), following.follower, following.roots, kept=wanted.kept, clock=clock)
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    watch.add_facts("this node", following.facts)
    acting = wanted.beside(watch, lang, pids[0] if pids else None, slurm, clock)
    if tui:
        from doctor.cli.tui import open_tui
        from doctor.session.answers import Answers
        from doctor.session.watch.source import Watched

        source = Watched(watch, following, named, interval, acting.turned)
        try:
            return open_tui(source, Answers(), lang, fail_on)[0]
        finally:
            acting.close()
            following.follower.close()
    screen.begin(following, named)
    with _stoppable() as stopped:
        _watch(watch, following, screen, acting, interval, seconds, once_done, stopped)
    return _end(watch, following, screen, acting, fail_on)


def _watch(
    watch: Watch,
    following: Following,
    screen: Screen,
    acting: Acting,
    interval: float,
    seconds: float | None,
    once_done: bool,
    stopped: list[int],
) -> None:
    """Turns until the job has ended, the time is up, or a person says so."""
    begun = time.monotonic()
    quiet_since = begun
    while not stopped:
        started = time.monotonic()
        turned = watch.turn()
        screen.show(watch, turned.said, turned.remarks)
        acting.turned(turned.said)
        if turned.heard:
            quiet_since = started
        quiet_for = time.monotonic() - quiet_since
        if following.over() and quiet_for >= LAST_WORDS:
            return
        if once_done and watch.heard_at is not None and quiet_for >= QUIET:
            return
        if seconds is not None and time.monotonic() - begun >= seconds:
            return
        if not turned.more:
            time.sleep(max(interval - (time.monotonic() - started), 0.01))


def _end(watch: Watch, following: Following, screen: Screen, acting: Acting, fail_on: str) -> int:
    """The summary, and the exit status of the gravest episode."""
    from doctor.cli.tell import status

    said = watch.finish()
    screen.show(watch, said, [])
    acting.turned(said)
    acting.close()
    screen.show(watch, [], [])
    following.follower.close()
    assert watch.report is not None
    screen.summary(watch)
    ended = [status(report, fail_on) for report in (*(e.report for e in watch.episodes), watch.report)]
    return next((code for code in (FOUND, UNDETERMINED) if code in ended), 0)


class Screen:
    """Findings to stdout; how the job stands to stderr: one line that stays in place, or one a minute."""

    def __init__(self, lang: str, color: bool, hushed: bool) -> None:
        self._lang, self._color, self._hushed = lang, color, hushed
        self._live = sys.stderr.isatty()
        self._shown_at = float("-inf")
        self._standing = False
        self._notes: deque[Note] = deque(maxlen=MOST_NOTES)

    def hear(self, note: Note) -> None:
        """Takes a remark, from any thread; it is shown with the next turn."""
        self._notes.append(note)

    def begin(self, following: Following, named: list[str]) -> None:
        if self._hushed:
            return
        options.note(say(self._lang, "watch.begins", what=", ".join(named)))
        for path in following.waiting:
            options.note(say(self._lang, "watch.waiting", path=path))

    def show(self, watch: Watch, said: list[Announcement], remarks: list[Remark]) -> None:
        from doctor.views.watch_text import announce, status_line

        notes = [self._notes.popleft() for _ in range(len(self._notes))]
        if said or ((remarks or notes) and not self._hushed):
            self._clear()
        for remark in remarks if not self._hushed else ():
            more = say(self._lang, "follow.more", n=f"{remark.more:,}") if remark.more else ""
            options.note(say(self._lang, remark.key, path=remark.path, reason=remark.reason) + more)
        for note in notes if not self._hushed else ():
            options.note(say(self._lang, note.key, path=note.path, **note.values))
        for one in said:
            announce(one, self._lang).print(sys.stdout, self._color)
            sys.stdout.flush()
        now = time.monotonic()
        if self._hushed or now - self._shown_at < (1.0 if self._live else MINUTE):
            return
        self._shown_at = now
        line = status_line(watch.status(), self._lang)
        if self._live:
            from doctor.views.page import Page

            width = Page().width
            print(f"\r\x1b[K{_cut(line, width)}", end="", file=sys.stderr, flush=True)
            self._standing = True
        elif watch.heard_at is not None:
            options.note(line)

    def summary(self, watch: Watch) -> None:
        from doctor.views import present
        from doctor.views.text import print_report

        self._clear()
        assert watch.report is not None
        print()
        for episode in watch.episodes:
            what = present.headline(episode.report, self._lang)
            print(say(self._lang, "watch.episode_was", n=episode.attempt, what=what))
        print_report(watch.report, sys.stdout, self._lang, color=self._color)

    def _clear(self) -> None:
        if self._standing:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._standing, self._shown_at = False, self._shown_at if not self._live else float("-inf")


def _cut(line: str, width: int) -> str:
    from rich.cells import set_cell_size
    from rich.text import Text

    return line if Text(line).cell_len < width else set_cell_size(line, width - 1)


@contextmanager
def _stoppable() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM end the watch with its summary; a second Ctrl-C ends everything."""
    stopped: list[int] = []

    def stop(number: int, frame: object) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
