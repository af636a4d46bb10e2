"""Options that say which job on this node is meant, and how closely to look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from doctor.cli import options
from doctor.rulebase.errors import suggestion
from doctor.session.node import WINDOW, Host, jobs_on, this_host

MOST_WINDOW = 600.0
Command = TypeVar("Command", bound=Callable[..., Any])


def _keep(context: click.Context, option: click.Parameter, value: float) -> None:
    context.meta[__name__] = value


def the_job(command: Command) -> Command:
    """`--python`, `--job`, `--pid`, `--native`, and `--window`, which `host_of` takes from the command's context."""
    shared: tuple[Callable[[Command], Command], ...] = (
        click.option("--python", type=click.Path(dir_okay=False), metavar="PATH", help="The job's Python interpreter."),
        click.option(
            "--job", metavar="NAME", help="Which job, where several run: its number, rendezvous, port or launcher."
        ),
        click.option("--pid", type=click.IntRange(min=1), metavar="PID", help="The same by a process of that job."),
        click.option("--native", is_flag=True, help="Frames of libraries in stacks too; stops each rank for a moment."),
        click.option(
            "--window",
            type=options.Seconds(0, MOST_WINDOW),
            default=WINDOW,
            show_default=True,
            metavar="SECONDS",
            expose_value=False,
            callback=_keep,
            help="How long counters of the network and errors of GPUs are watched.",
        ),
    )
    for option in reversed(shared):
        command = option(command)
    return command


def host_of(python: str | None, job: str | None, pid: int | None, native: bool) -> Host:
    """This host with the job that is meant; wrong usage when no such job runs here."""
    window = click.get_current_context().meta.get(__name__, WINDOW)
    host = replace(this_host(python=python or ""), job=job or "", pid=pid or 0, native=native, window=window)
    if job and pid:
        raise click.UsageError("--job and --pid both say which job is meant: leave one of the two out")
    if job or pid:
        jobs = jobs_on(host)
        if not any(one.chosen for one in jobs):
            wanted = f"no job here is called {job}" if job else f"process {pid} is of no job that could be seen here"
            hint = suggestion(job, [one.name for one in jobs]) if job else ""
            shown = ", ".join(f"{one.name} ({one.ranks} ranks)" for one in jobs) or "none that could be seen"
            raise click.UsageError(f"{wanted}{hint}; jobs that run: {shown}")
    return host
