"""`pdoctor probe`: the probes of a node, listed or run by name."""

from __future__ import annotations

import sys

import click

from doctor.cli import options
from doctor.cli.main import OK
from doctor.cli.the_job import host_of, the_job
from doctor.rulebase.errors import suggestion
from doctor.session.node import known_probes, look
from doctor.views.probes import outcomes_json, print_facts, print_outcomes, print_specs, specs_json


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@the_job
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
@options.lang
@options.no_color
def probe(
    names: tuple[str, ...],
    python: str | None,
    job: str | None,
    pid: int | None,
    native: bool,
    as_json: bool,
    lang: str,
    no_color: bool,
) -> int:
    """List the probes of a node, or run those that are named and show what they find.

    All of them only read: a job that runs is not disturbed.
    """
    known = known_probes()
    for name in names:
        if name not in known:
            raise click.UsageError(f"no probe is called {name}{suggestion(name, known)}")
    if not names:
        if as_json:
            sys.stdout.write(specs_json(known.values()))
        else:
            print_specs(known.values(), lang, not no_color)
        return OK
    outcomes = look(host_of(python, job, pid, native), names)
    if as_json:
        sys.stdout.write(outcomes_json(outcomes))
    else:
        print_outcomes(outcomes, lang, not no_color)
        print_facts(outcomes, not no_color)
    return OK
