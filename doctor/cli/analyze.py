"""`pdoctor analyze`: files in, diagnosis out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from doctor.cli import options
from doctor.cli.tell import Telling, tell
from doctor.messages import say
from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import STDIN, read_paths
from doctor.session.answers import Answers, add_answers, read_answers
from doctor.session.answers import save_answers as save_answers_to
from doctor.session.collecting import Files
from doctor.session.inputs import InputError


@click.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--save-answers", type=click.Path(dir_okay=False), metavar="FILE", help="Write all answers to FILE.")
@click.option("--cluster", metavar="PLACE", help="Read on local processes, dask://HOST:PORT or slurm; same answer.")
@options.report
def analyze(
    paths: tuple[str, ...],
    as_json: bool,
    tui: bool,
    explain: str | None,
    facts: bool,
    fail_on: str,
    answers: str | None,
    words: tuple[str, ...],
    save_answers: str | None,
    cluster: str | None,
    no_input: bool,
    rules: tuple[Path, ...],
    lang: str,
    no_color: bool,
    verbose: bool,
    quiet: bool,
) -> int:
    """Find the root cause in what a job left behind.

    PATH is a log, a trace of the PyTorch profiler, a job configuration, a pasted node dump (nvidia-smi, dmesg, df ...),
    or a folder or archive (zip, tar) of them, in any mixture; what a file is, is told by its content. A PATH of - is
    standard input; s3://, gs:// and https:// are fetched.

    On a terminal the report is followed by questions, as long as an answer is worth having.
    """
    if explain is not None and as_json:
        raise click.UsageError("--explain is for people and has no JSON form: leave one of the two out")
    if STDIN in paths and sys.stdin is None:
        raise click.UsageError(say(lang, "watch.no_stdin"))
    stdin = sys.stdin.buffer if STDIN in paths else None
    if save_answers is not None and os.path.exists(save_answers) and not _same(save_answers, answers):
        raise click.UsageError(say(lang, "answers.exists", path=save_answers))
    try:
        loaded = load_rulebase(rules)
        base = loaded.base
        told = read_answers(answers, base.catalogue, base.questions) if answers else Answers()
        told = add_answers(told, words, base.questions)
        if tui:
            from doctor.cli.tui import open_tui

            _whole(as_json, explain, cluster, STDIN in paths)
            ended, told = open_tui(Files(loaded, paths), told, lang, fail_on)
            if save_answers is not None:
                _save(save_answers, told, lang)
            return ended
        material = read_paths(paths, loaded, stdin=stdin, progress=options.progress(quiet), place=cluster)
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    ask = not no_input and stdin is None
    ended, told = tell(material, told, Telling(as_json, explain, facts, fail_on, lang, no_color, verbose, quiet, ask))
    if save_answers is not None and explain is None:
        _save(save_answers, told, lang)
    return ended


def _whole(as_json: bool, explain: str | None, cluster: str | None, piped: bool) -> None:
    """Raises UsageError for what the terminal interface has no place for."""
    for name, given in {"--json": as_json, "--explain": explain, "--cluster": cluster, "standard input": piped}.items():
        if given:
            raise click.UsageError(f"--tui does not go with {name}: leave one of the two out")


def _same(path: str, other: str | None) -> bool:
    return other is not None and os.path.exists(other) and os.path.samefile(path, other)


def _save(path: str, told: Answers, lang: str) -> None:
    try:
        save_answers_to(path, told)
    except OSError as error:
        raise click.UsageError(say(lang, "answers.unwritable", path=path, reason=error.strerror or error)) from None
    options.note(say(lang, "ask.saved", path=path))
