"""`pdoctor run`: looks at the node it runs on, finds the job there, and diagnoses."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from doctor.cli import options
from doctor.cli.many import Many, look_at_many, many, summary
from doctor.cli.tell import Telling, tell
from doctor.cli.the_job import host_of, the_job
from doctor.messages import say
from doctor.rulebase.load import load_rulebase
from doctor.session.answers import Answers, add_answers, read_answers
from doctor.session.collecting import Node
from doctor.session.inputs import InputError
from doctor.session.node import look, read_node


@click.command()
@click.option("--log", "logs", multiple=True, type=click.Path(), metavar="PATH", help="The job's log, or a folder.")
@click.option("--config", "configs", multiple=True, type=click.Path(), metavar="PATH", help="The job's configuration.")
@click.option("--live", is_flag=True, help="Test collectives on this node too, where nothing runs on its GPUs.")
@click.option("--force", is_flag=True, help="With --live: also beside a running job, which it slows down.")
@the_job
@many
@options.report
def run(
    logs: tuple[str, ...],
    configs: tuple[str, ...],
    live: bool,
    force: bool,
    python: str | None,
    job: str | None,
    pid: int | None,
    native: bool,
    hosts: tuple[str, ...],
    hostfile: str | None,
    slurm: str | None,
    ssh: str | None,
    remote_command: str,
    per_host: float,
    at_once: int,
    as_json: bool,
    tui: bool,
    explain: str | None,
    facts: bool,
    fail_on: str,
    answers: str | None,
    words: tuple[str, ...],
    no_input: bool,
    rules: tuple[Path, ...],
    lang: str,
    no_color: bool,
    verbose: bool,
    quiet: bool,
) -> int:
    """Find what is wrong on this node and with the job on it.

    Looks at GPUs, network, limits, kernel log, environment and at where each rank of the job stands, without disturbing
    it, and diagnoses what it finds. What could not be looked at is listed with its reason. Nothing is changed.

    With --live the collective tests of `pdoctor bench` are part of it, in short and only on idle GPUs.

    With --hosts, --hostfile or --slurm the same on many nodes, where pdoctor is installed, too: what differs among them
    is shown, and which is the odd one out. A host that does not answer is named, and the others are judged.
    """
    if explain is not None and as_json:
        raise click.UsageError("--explain is for people and has no JSON form: leave one of the two out")
    nodes = Many(hosts, hostfile, slurm, ssh, remote_command, per_host, at_once)
    if nodes and (tui or python or job or pid or native or live):
        own = "--tui, --live, --python, --job, --pid and --native"
        raise click.UsageError(f"{own} are of one node: leave them or --hosts out")
    if (force and not live) or (live and tui):
        raise click.UsageError("--force goes with --live, and --live not with --tui: leave one of the two out")
    host = host_of(python, job, pid, native)
    try:
        loaded = load_rulebase(rules)
        base = loaded.base
        told = read_answers(answers, base.catalogue, base.questions) if answers else Answers()
        told = add_answers(told, words, base.questions)
        if tui:
            from doctor.cli.tui import open_tui

            if as_json or explain is not None:
                raise click.UsageError("--tui does not go with --json or --explain: leave one of the two out")
            return open_tui(Node(loaded, host, (*logs, *configs)), told, lang, fail_on)[0]
        paths = [*logs, *configs]
        outcomes = [] if nodes else look(host)
        result = None
        if live:
            from doctor.cli.live import test

            outcome, result = test(outcomes, python, force, lang, quiet)
            outcomes.append(outcome)
        material = look_at_many(nodes, loaded, paths, lang, quiet) if nodes else read_node(outcomes, loaded, paths)
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    how = Telling(as_json, explain, facts, fail_on, lang, no_color, verbose, quiet, not no_input)
    if not as_json and explain is None:
        from doctor.views.probes import print_outcomes

        if nodes:
            print(summary(material, lang) + "\n")
        else:
            print_outcomes(outcomes, lang, not no_color)
        if result is not None:
            from doctor.views.bench_text import print_bench

            print_bench(result, sys.stdout, lang, not no_color)
            print()
    return tell(material, told, how)[0]
