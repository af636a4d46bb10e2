"""`pdoctor attach`: sits beside a running job and says what goes wrong when it goes wrong, or before."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doctor.cli import options
from doctor.cli.acts import Acts, acts
from doctor.cli.attach_screen import Screen
from doctor.cli.main import FOUND, UNDETERMINED
from doctor.cli.settings import SEVERITIES
from doctor.cli.stop import Stop, stoppable
from doctor.messages import say
from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import STDIN, STDIN_NAME
from doctor.session.inputs import InputError
from doctor.session.notes import Note

if TYPE_CHECKING:
    from doctor.session.watch.acting import Acting
    from doctor.session.watch.ending import Ending
    from doctor.session.watch.watch import Watch

WRITTEN = ("jsonl", "metrics_file", "state")
"""Options whose files the watch writes."""


@click.command(no_args_is_help=True)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--pid", "pids", multiple=True, type=click.IntRange(min=1), help="Follow what this process writes.")
@click.option("--slurm", metavar="JOBID", help="Follow the outputs of a Slurm job.")
@click.option("--interval", type=options.Seconds(0.05, 60), default=0.25, show_default=True, help="Seconds of a turn.")
@click.option("--for", "seconds", type=options.Seconds(min=0), metavar="SECONDS", help="End after so many seconds.")
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
    from doctor.session.watch.ending import Ending
    from doctor.session.watch.follow import follow
    from doctor.session.watch.lock import alone
    from doctor.session.watch.watch import Watch

    if not (targets or pids or slurm):
        raise click.UsageError(say(lang, "watch.nothing"))
    if STDIN in targets and sys.stdin is None:
        raise click.UsageError(say(lang, "watch.no_stdin"))
    stdin = sys.stdin.buffer if STDIN in targets else None
    if tui:
        from doctor.cli.tui import need_terminal, pipe_beside

        stdin = pipe_beside() if stdin is not None else None
        need_terminal(lang)
    screen, clock = Screen(lang, not no_color, quiet), steady()
    named = [*targets, *(f"--pid {pid}" for pid in pids), *([f"--slurm {slurm}"] if slurm else [])]
    written = {name.replace("_", "-"): asked[name] for name in WRITTEN if asked[name] is not None}
    with ExitStack() as ends:
        try:
            own.check(written, targets)
            ends.enter_context(alone(asked["state"]))
            wanted = Acts.of(asked, named, screen.hear)
            following = follow(targets, pids, slurm, stdin, wanted.kept.marks, clock, [*written.values()])
            watch = Watch(load_rulebase(rules), following.follower, following.roots, kept=wanted.kept, clock=clock)
        except InputError as error:
            raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
        watch.add_facts("this node", following.facts, lasting=True)
        acting = wanted.beside(watch, lang, pids[0] if pids else None, slurm, clock)
        ends.callback(following.follower.close)
        beside = ends.enter_context(ExitStack())
        beside.callback(acting.close)
        ending = Ending(following, seconds, once_done)
        if tui:
            from doctor.cli.tui import watch_on_screen
            from doctor.session.watch.source import Watched

            for path in following.waiting:
                screen.hear(Note("watch.waiting", path))
            source = Watched(watch, following, ending, named, interval, acting.turned, screen.heard)
            with stoppable() as stop:
                acting.turned(watch.finish(watch_on_screen(source, lang, stop)))
                return _end(watch, screen, beside, fail_on, named, lang)
        screen.begin(following, named)
        with stoppable() as stop:
            _watch(watch, ending, screen, acting, interval, stop)
            said = watch.finish()
            screen.show(watch, said, [])
            acting.turned(said)
            return _end(watch, screen, beside, fail_on, named, lang)


def _watch(watch: Watch, ending: Ending, screen: Screen, acting: Acting, interval: float, stop: Stop) -> None:
    """Turns until the job has ended, the time is up, or a person says so."""
    while not (stop.asked or screen.gone):
        started = time.monotonic()
        turned = watch.turn()
        screen.show(watch, turned.said, turned.notes)
        acting.turned(turned.said)
        if (end := ending.see(bool(turned.heard))) is not None:
            screen.ended(end)
            return
        if not turned.more:
            time.sleep(max(interval - (time.monotonic() - started), 0.01))


def _end(watch: Watch, screen: Screen, beside: ExitStack, fail_on: str, named: list[str], lang: str) -> int:
    """The summary, and the exit status of the gravest episode. `beside` ends what is done besides telling.

    UsageError where nothing could be read, as of `analyze`.
    """
    from doctor.cli.tell import status
    from doctor.session.watch.unheard import unheard
    from doctor.views.present import note_text

    beside.close()
    screen.show(watch, [], [])
    assert watch.report is not None
    if unheard(watch.report) and not watch.episodes:
        silent = Note("watch.unheard", ", ".join(STDIN_NAME if name == STDIN else name for name in named))
        raise click.UsageError(note_text(next((n for g in watch.report.inputs for n in g.notes), silent), lang))
    screen.summary(watch)
    ended = [status(report, fail_on) for report in (*(e.report for e in watch.episodes), watch.report)]
    return next((code for code in (FOUND, UNDETERMINED) if code in ended), 0)
