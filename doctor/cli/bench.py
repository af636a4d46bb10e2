"""`pdoctor bench`: live collective tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from doctor.cli import options
from doctor.cli.main import FOUND, OK, UNDETERMINED

if TYPE_CHECKING:
    from doctor.rulebase.load import Loaded
    from doctor.session.bench import Request

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")


@click.command()
@click.option("--python", default=sys.executable, metavar="PATH", help="The job's interpreter, whose torch is tested.")
@click.option("--backend", type=click.Choice(("auto", "nccl", "gloo")), default="auto", show_default=True)
@click.option("--ranks", type=click.IntRange(2, 1024), metavar="N", help="Ranks on this machine; else one a GPU.")
@click.option("--op", "operations", multiple=True, type=click.Choice(OPERATIONS), help="Only this; may be repeated.")
@click.option("--size", "sizes", multiple=True, metavar="SIZE", help="Payload such as 64M; may be given several times.")
@click.option("--pairs/--no-pairs", default=True, show_default=True, help="Look for a slow host or link.")
@click.option("--all-pairs", is_flag=True, help="Every pair, also among more than 16: a round for each rank.")
@click.option("--layout", metavar="DEGREES", help="Groups of the job too: tp=8,pp=2,ep=8 (order=tp-cp-ep-dp-pp).")
@click.option(
    "--from", "origins", multiple=True, type=click.Path(), metavar="PATH", help="Layout and payloads from it."
)
@click.option("--step-timeout", type=options.Seconds(1, 3600), default=30, show_default=True, metavar="SECONDS")
@click.option("--timeout", type=options.Seconds(1, 86400), default=180, show_default=True, metavar="SECONDS")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON, for programs.")
@options.lang
@options.no_color
@options.quiet
def bench(
    python: str,
    backend: str,
    ranks: int | None,
    operations: tuple[str, ...],
    sizes: tuple[str, ...],
    pairs: bool,
    all_pairs: bool,
    layout: str | None,
    origins: tuple[str, ...],
    step_timeout: float,
    timeout: float,
    as_json: bool,
    lang: str,
    no_color: bool,
    quiet: bool,
) -> int:
    """Test collectives between live ranks: bandwidth, latency, results, and who is slow or does not answer.

    By itself it tests the GPUs of this machine, or gloo over its CPU. Under torchrun, srun or mpirun it tests all ranks
    that these start, and rank 0 reports. It loads what it tests: not beside a running job.

    With --layout, or --from and the job's launch script, configuration or log, the groups of the job are tested as
    well, each with the operations of its role, and compared with their siblings.

    \b
    pdoctor bench --python /opt/job/bin/python
    pdoctor bench --python /opt/job/bin/python --from train.sh
    srun --ntasks-per-node=8 pdoctor bench --python /opt/job/bin/python
    """
    from doctor.messages_probes import translated
    from doctor.rulebase.load import load_rulebase
    from doctor.session.bench import BenchError, LayoutError, Request, judged, launched
    from doctor.session.bench import bench as test

    told = options.note if not quiet and sys.stderr.isatty() else _nothing
    loaded = load_rulebase()
    request = Request(operations or OPERATIONS, _sizes(sizes), pairs, all_pairs, step_timeout, timeout, told=told)
    try:
        request = with_layout(request, layout, origins, loaded, lang)
        result = test(request, python, backend, ranks, launched(os.environ))
    except (BenchError, LayoutError) as error:
        raise click.UsageError(translated(str(error), lang)) from None
    if result is None:
        return OK
    report = judged(result, loaded)
    severe = [root for root in report.diagnosis.roots if root.severity in ("fatal", "degraded")]
    # Two ranks are one pair, which can never be compared: that alone leaves nothing undecided.
    blind = result.verdict is not None and not result.verdict.judged and len(result.units) > 2
    unsure = result.lost is not None or not (result.rows or result.groups) or blind
    status = FOUND if severe else UNDETERMINED if unsure else OK
    if as_json:
        from doctor.views.bench_json import render

        sys.stdout.write(render(result, report, {FOUND: "problem", OK: "healthy"}.get(status, "undetermined"), lang))
        return status
    from doctor.views.bench_text import print_bench

    print_bench(result, sys.stdout, lang, not no_color)
    if report.diagnosis.roots:
        from doctor.views.text import print_report

        print()
        print_report(report, sys.stdout, lang, False, not no_color)
    return status


def with_layout(request: Request, layout: str | None, origins: Sequence[str], loaded: Loaded, lang: str) -> Request:
    """The request with the groups of the job; what --layout says goes before what is read. Raises LayoutError."""
    from doctor.messages import say
    from doctor.session.analyze import read_paths
    from doctor.session.bench import LayoutError, layout_of, parsed, payloads_of
    from doctor.session.inputs import InputError

    if layout is None and not origins:
        return request
    try:
        facts = read_paths(origins, loaded).facts if origins else ()
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    found = parsed(layout) if layout is not None else layout_of(facts)
    if found is None:
        raise LayoutError(f"{', '.join(origins)} names no degree of parallelism; right would be --layout tp=8,pp=2")
    return replace(request, layout=found, payloads=payloads_of(facts, found))


def _nothing(text: str) -> None:
    """Says nothing."""


def _sizes(words: tuple[str, ...]) -> tuple[int, ...]:
    from doctor.facts.units import parse_size

    sizes = []
    for word in words:
        size = parse_size(f"{word}iB" if word[-1:].upper() in tuple("KMGT") else word)  # powers of 1024, as nccl-tests
        if size is None or not 4 <= size <= 1 << 40:
            raise click.UsageError(f"--size is {word!r}; right would be bytes from 4 up, such as 1024, 64K or 1G")
        sizes.append(int(size))
    return tuple(sorted(set(sizes)))
