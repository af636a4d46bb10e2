"""`pdoctor plan`: model and machines in, layouts with their memory, communication and step time out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doctor.cli import options
from doctor.cli.main import OK
from doctor.views.safe import visible

if TYPE_CHECKING:
    from doctor.planner.from_facts import Understood
    from doctor.planner.planning import Planning
    from doctor.session.change import FileChange


@click.command(no_args_is_help=True)
@click.option("--model", metavar="NAME|FILE", help="A well-known model, or its config.json.")
@click.option("--gpus", type=int, metavar="N", help="GPUs in all.")
@click.option("--gpu", metavar="NAME", help="GPU, such as A100-80G or H100.")
@click.option("--per-node", type=int, metavar="N", help="GPUs of a node; the vendor's usual node otherwise.")
@click.option("--network", type=float, metavar="GB/S", help="Network of a whole node, in 10^9 B/s per direction.")
@click.option("--seq", type=int, metavar="TOKENS", help="Tokens of a sequence.")
@click.option("--global-batch", type=int, metavar="N", help="Sequences of an optimizer step.")
@click.option("--framework", metavar="NAME", help="megatron, fsdp, deepspeed or torchtitan.  [default: megatron]")
@click.option("--from", "source", type=click.Path(), metavar="PATH", help="Configuration or logs of today's job.")
@click.option("--set", "words", multiple=True, metavar="NAME=VALUE", help="Hold a setting; may be given several times.")
@click.option("--what-if", is_flag=True, help="Do not search: say what the settings of --set would do.")
@click.option("--measured-step", type=float, metavar="SECONDS", help="Measured step time of the job as it runs.")
@click.option("--evaluate", type=click.Path(), metavar="DIR", help="Hold the models against published measurements.")
@click.option("--json", "as_json", is_flag=True, help="The plan as JSON, for programs.")
@options.lang
@options.no_color
def plan(
    model: str | None,
    gpus: int | None,
    gpu: str | None,
    per_node: int | None,
    network: float | None,
    seq: int | None,
    global_batch: int | None,
    framework: str | None,
    source: str | None,
    words: tuple[str, ...],
    what_if: bool,
    measured_step: float | None,
    evaluate: str | None,
    as_json: bool,
    lang: str,
    no_color: bool,
) -> int:
    """Find layouts for a model on a cluster, and what they cost.

    Memory of every pipeline stage, communication, bubble and step time, each with a range. Settings for --set: tp, pp,
    vpp, cp, ep, etp, micro_batch, recompute, zero_stage, precision, fused_loss and others, by neutral names.

    \b
    pdoctor plan --model llama3-70b --gpus 64 --gpu A100-80G --seq 4096 --global-batch 512
    pdoctor plan --from train.sh --gpu H100 --what-if --set tp=4 --set recompute=full
    """
    from doctor.messages import say
    from doctor.planner.errors import PlanError
    from doctor.planner.knobs import assignments

    if evaluate is not None:
        return _evaluate(evaluate, as_json, lang, no_color)
    given = {
        "model": model, "world_size": gpus, "gpu_model": gpu, "gpus_per_node": per_node, "seq_len": seq,
        "global_batch": global_batch,
    }  # fmt: skip
    try:
        _positive(given, network, measured_step)
        settings = assignments(words)
        if source is not None and not what_if:
            given["micro_batch"] = settings.get("micro_batch")
        understood, configs = _read(source, given, lang) if source is not None else (None, {})
        planning = _plan(given, framework, settings, what_if, network, measured_step, understood, source, lang)
    except PlanError as error:
        raise click.UsageError(error.text.get(lang)) from None
    if framework and framework.strip().lower() != planning.framework.name:
        told = say(lang, "plan.as", name=visible(framework), other=planning.framework.name)
        click.echo(f"pdoctor: {told}", err=True)
    files = _files(planning, configs)
    if as_json:
        from doctor.views.plan_json import render

        sys.stdout.write(render(planning, lang, files))
    else:
        from doctor.views.plan_text import print_plan

        print_plan(planning, sys.stdout, lang, not no_color, files)
    return OK


OPTIONS = {"world_size": "gpus", "gpu_model": "gpu", "gpus_per_node": "per-node", "seq_len": "seq"}


def _option(name: str) -> str:
    return OPTIONS.get(name, name).replace("_", "-")


def _positive(given: dict[str, Any], network: float | None, measured_step: float | None) -> None:
    from doctor.planner.errors import PlanError, reason
    from doctor.planner.knobs import MOST

    numbers = {**given, "network": network, "measured-step": measured_step}
    for name, value in numbers.items():
        if isinstance(value, int | float) and not 0 < value <= MOST:
            raise PlanError(reason("reason.option", option=_option(name), value=value, most=f"{MOST:,}"))


def _read(source: str, given: dict[str, Any], lang: str) -> tuple[Understood, Mapping[str, bytes]]:
    """Today's job from the user's files, with what the options say about it."""
    from doctor.messages import say
    from doctor.session.inputs import InputError
    from doctor.session.today import understand_paths

    try:
        return understand_paths([source], given)
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None


def _files(planning: Planning, configs: Mapping[str, bytes]) -> tuple[FileChange, ...]:
    """The change to the chosen layout, or to the settings of --what-if, in the user's own files."""
    from doctor.session.change import changed_files

    after = planning.change.after.job if planning.change else planning.chosen.job if planning.chosen else None
    return changed_files(configs, planning.today.job, after) if configs and planning.today and after else ()


def _plan(
    given: dict[str, Any],
    framework: str | None,
    settings: dict[str, Any],
    only_what_if: bool,
    network: float | None,
    measured_step: float | None,
    understood: Understood | None,
    source: str | None,
    lang: str,
) -> Planning:
    from doctor.planner.calibrate import calibrate
    from doctor.planner.errors import PlanError, reason
    from doctor.planner.frameworks import framework as framework_of
    from doctor.planner.frameworks import of_stack, start
    from doctor.planner.hardware import GB
    from doctor.planner.planning import plan as plan_job
    from doctor.planner.planning import what_if

    today = understood.job if understood else None
    if understood and understood.problem:
        raise PlanError(reason("reason.of", name=source, why=understood.problem))
    if today is not None and understood is not None:
        chosen = framework_of(framework) if framework else of_stack(today.stack, understood.framework)
        if network:
            today = replace(today, cluster=replace(today.cluster, nic_bandwidth=network * GB))
        base, assumed = today, understood.assumed
    else:
        missing = understood.missing if understood else ()
        if missing and not all(given[name] for name in ("model", "world_size", "gpu_model", "seq_len", "global_batch")):
            names = ", ".join(MISSING.get(name, name) for name in missing)
            raise PlanError(reason("reason.from", path=source, names=names))
        chosen = framework_of(framework or "megatron")
        base, assumed = start(chosen, *_described(given, network)), ()
    calibration = calibrate(today, measured_step) if today is not None and measured_step else None
    if only_what_if:
        return what_if(base, chosen, settings, today is not None, calibration, assumed)
    return plan_job(base, chosen, today, settings, calibration, assumed)


MISSING = {
    "config.model": "--model", "config.world_size": "--gpus", "config.gpu_model": "--gpu", "config.seq_len": "--seq",
    "config.micro_batch": "--set micro_batch=N",
}  # fmt: skip
NEEDED = ("model", "world_size", "gpu_model", "seq_len", "global_batch")


def _described(given: dict[str, Any], network: float | None) -> tuple[Any, Any, int, int]:
    """Model, machines, sequence and batch of the options."""
    from doctor.planner.errors import PlanError, reason
    from doctor.planner.families import model
    from doctor.planner.hardware import GB, gpu, node_of
    from doctor.rulebase.model import Text

    absent = [
        reason("reason.need", option=_option(name), what=reason(f"need.{name}")) for name in NEEDED if not given[name]
    ]
    if absent:
        raise PlanError(Text("; ".join(each.en for each in absent), "；".join(each.zh for each in absent)))
    bandwidth = network * GB if network else None
    cluster = node_of(gpu(given["gpu_model"]), given["world_size"], given["gpus_per_node"], bandwidth)
    return model(given["model"]), cluster, given["seq_len"], given["global_batch"]


def _evaluate(folder: str, as_json: bool, lang: str, no_color: bool) -> int:
    from doctor.planner.errors import reason
    from doctor.planner.evaluate import evaluate
    from doctor.views.plan_accuracy import print_accuracy, render

    if not Path(folder).is_dir():
        raise click.UsageError(reason("reason.no_folder", path=repr(folder)).get(lang))
    report = evaluate(Path(folder))
    if as_json:
        sys.stdout.write(render(report))
    else:
        print_accuracy(report, sys.stdout, lang, not no_color)
    return OK
