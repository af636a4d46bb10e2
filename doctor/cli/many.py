"""Options that name many nodes, and how they are reached."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from doctor.cli import options
from doctor.messages import say
from doctor.rulebase.load import Loaded
from doctor.session.analyze import Material
from doctor.session.hosts import SRUN, SSH, Answer, Reach, ask, hosts_of_job, named_hosts, read_hosts
from doctor.views.safe import visible

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Many:
    """The options of the same names."""

    hosts: tuple[str, ...]
    hostfile: str | None
    slurm: str | None
    ssh: str | None
    remote_command: str
    per_host: float
    at_once: int

    def __bool__(self) -> bool:
        return bool(self.hosts) or self.hostfile is not None or self.slurm is not None


def many(command: Command) -> Command:
    """`--hosts`, `--hostfile`, `--slurm`, and how these are reached."""
    shared: tuple[Callable[[Command], Command], ...] = (
        click.option("--hosts", multiple=True, metavar="LIST", help="These nodes instead, over ssh: a,b,gpu[01-08]."),
        click.option("--hostfile", type=click.Path(dir_okay=False), metavar="FILE", help="The same, one a line."),
        click.option(
            "--slurm", is_flag=False, flag_value="", metavar="[JOBID]",
            help="The nodes of a Slurm job over srun; without JOBID of the job this runs in.",
        ),
        click.option("--ssh", metavar="COMMAND", help="What reaches a host, in place of ssh (or srun) as it is."),
        click.option(
            "--remote-command", default="pdoctor", show_default=True, metavar="COMMAND", help="pdoctor on the hosts."
        ),
        click.option("--per-host", type=options.Seconds(1, 86_400), default=60, show_default=True, metavar="SECONDS",
                     help="How long each host is waited for."),
        click.option("--at-once", type=click.IntRange(1, 512), default=32, show_default=True, metavar="N",
                     help="Hosts asked at the same time."),
    )  # fmt: skip
    for option in reversed(shared):
        command = option(command)
    return command


def look_at_many(wanted: Many, loaded: Loaded, paths: list[str], lang: str, hushed: bool) -> Material:
    """What the hosts and the files at and below `paths` tell together; raises InputError."""
    if wanted.slurm is not None and (wanted.hosts or wanted.hostfile is not None):
        raise click.UsageError("--slurm and --hosts or --hostfile both name nodes: leave one of them out")
    job, hosts = hosts_of_job(wanted.slurm) if wanted.slurm is not None else ("", [])
    hosts = hosts or named_hosts(wanted.hosts, wanted.hostfile)
    if not hosts:
        raise click.UsageError("no host is named by --hosts, --hostfile or --slurm")
    try:
        words = tuple(shlex.split(wanted.ssh)) if wanted.ssh else ()
    except ValueError as error:
        raise click.UsageError(f"--ssh {wanted.ssh}: {error}") from None
    reach = Reach(words or (SRUN if job else SSH), wanted.remote_command, wanted.per_host, wanted.at_once, job)
    with tempfile.TemporaryDirectory(prefix="pdoctor-") as folder:
        answers = ask(hosts, reach, Path(folder), _told(len(hosts), lang, hushed))
        return read_hosts(answers, loaded, paths)


def _told(total: int, lang: str, hushed: bool) -> Callable[[Answer], None] | None:
    """A line on stderr for each host that does not answer, and on a terminal a count of those that did."""
    if hushed:
        return None
    done = [0, 0]

    def tell(answer: Answer) -> None:
        done[0] += 1
        done[1] += bool(answer.bundle)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{say(lang, 'hosts.progress', n=done[1], all=total)}", end="", file=sys.stderr, flush=True)
            if done[0] == total:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    return tell


def summary(material: Material, lang: str) -> str:
    """One line: how many hosts answered."""
    silent = [note for note in material.notes if note.key == "hosts.silent"]
    answered = {given.host for given in material.inputs if given.kind == "probe"}
    return visible(say(lang, "hosts.asked", n=len(answered), all=len(answered) + len(silent)))
