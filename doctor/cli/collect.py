"""`pdoctor collect`: one file with what a diagnosis needs, and without secrets."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from doctor.cli import options
from doctor.messages import say
from doctor.rulebase.load import load_rulebase
from doctor.session.bundle_writer import Bundled, taken_by_kind, write_bundle
from doctor.session.inputs import InputError
from doctor.session.node import Outcome, look, this_host
from doctor.views.present import size
from doctor.views.safe import visible

STDOUT = "-"
LEAST_SHOWN = 32 << 20
"""Bytes below which no bar is shown: it is over at once."""


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="A .tar.zst, .tar.gz or .zip file, - for stdout; by default pdoctor-DATE-TIME.tar.zst here.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be taken and hidden, with samples; write nothing.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--no-node", is_flag=True, help="Take the PATHs alone, nothing of this node.")
@click.option("--no-files", is_flag=True, help="Of this node what the probes see alone, not the job's files.")
@click.option("--keep-hosts", is_flag=True, help="Leave host names and public addresses as they are.")
@click.option("--names", type=click.Path(), metavar="FILE", help="Write who is who in the bundle to FILE. Keep it.")
@options.rules
@options.lang
@options.quiet
def collect(
    paths: tuple[str, ...],
    output: str | None,
    dry_run: bool,
    force: bool,
    no_node: bool,
    no_files: bool,
    keep_hosts: bool,
    names: str | None,
    rules: tuple[Path, ...],
    lang: str,
    quiet: bool,
) -> int:
    """Collect what a diagnosis needs into one FILE, without secrets, to be analyzed elsewhere.

    Takes what the probes see of this node, the job's files that they find, and the logs, configurations, dumps and
    recordings at and below the PATHs. Tokens, keys, passwords and cookies are hidden; users, hosts and public addresses
    get other names, the same throughout. `pdoctor analyze FILE` finds what it would have found here.
    """
    if no_node and not paths:
        raise click.UsageError("nothing to collect: --no-node needs a PATH")
    if output == STDOUT:
        return _to_stdout(paths, [] if no_node else _look(no_files), rules, keep_hosts, lang)
    output = output or datetime.now(UTC).strftime("pdoctor-%Y%m%d-%H%M%S.tar.zst")
    if names is not None and not dry_run and os.path.lexists(names) and not force:
        raise click.UsageError(say(lang, "bundle.exists", path=names, option="--force"))
    try:
        base = load_rulebase(rules).base
        outcomes = [] if no_node else _look(no_files)
        told = _progress(quiet, say(lang, "bundle.progress"))
        done = write_bundle(
            output, paths, base, outcomes, keep_hosts=keep_hosts, force=force or dry_run, dry=dry_run, told=told
        )
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    if names is not None and not dry_run:
        _save_names(names, done, lang)
    for line in _told(done, lang, dry_run):
        sys.stdout.write(visible(line) + "\n")
    if not quiet:
        for note in done.notes:
            options.note(say(lang, note.key, path=note.path, **note.values))
    return 0


def _look(no_files: bool) -> list[Outcome]:
    outcomes = look(this_host())
    if no_files:
        for outcome in outcomes:
            outcome.places.clear()
    return outcomes


def _to_stdout(
    paths: tuple[str, ...], outcomes: list[Outcome], rules: tuple[Path, ...], keep_hosts: bool, lang: str
) -> int:
    """The bundle alone, for a program that reads it; what is wrong goes to stderr."""
    with tempfile.TemporaryDirectory(prefix="pdoctor-") as folder:
        target = os.path.join(folder, "bundle.tar.zst")
        try:
            write_bundle(target, paths, load_rulebase(rules).base, outcomes, keep_hosts=keep_hosts)
        except InputError as error:
            raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
        with open(target, "rb") as bundle:
            shutil.copyfileobj(bundle, sys.stdout.buffer, 1 << 20)
        sys.stdout.buffer.flush()
    return 0


def _progress(hushed: bool, what: str) -> Callable[[int, int], None] | None:
    """A bar on stderr, where that is a terminal."""
    if hushed or not sys.stderr.isatty():
        return None
    shown = [-1]

    def show(done: int, total: int) -> None:
        share = 100 * done // max(total, 1)
        if share != shown[0] and total > LEAST_SHOWN:
            shown[0] = share
            bar = "#" * (share // 5)
            end = "\r\x1b[K" if done >= total else ""
            print(f"\r{what} [{bar:20}] {share:3} %{end}", end="", file=sys.stderr, flush=True)

    return show


def _told(done: Bundled, lang: str, dry: bool) -> Iterator[str]:
    """What was taken, what was hidden, what was left out."""
    manifest = done.manifest
    if dry:
        yield say(lang, "bundle.not_written", path=done.path)
    else:
        yield say(lang, "bundle.written", path=done.path, size=size(done.bytes))
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(taken_by_kind(manifest).items()))
    whole = size(sum(text.bytes for text in manifest.files))
    head = say(lang, "bundle.taken")
    if manifest.files:
        yield f"  {head}  {say(lang, 'bundle.texts', n=len(manifest.files), kinds=kinds, size=whole)}"
    if done.inputs:
        yield f"  {head}  {say(lang, 'bundle.of_facts', n=manifest.facts, m=done.inputs)}"
    for text in manifest.files:
        if text.cut:
            yield f"  {head}  {say(lang, 'bundle.cut', path=text.name)}"
    hidden = ", ".join(f"{kind} {n}" for kind, n in manifest.hidden.items()) or say(lang, "bundle.nothing_hidden")
    yield f"  {say(lang, 'bundle.hidden')}  {hidden}"
    for kind, line in done.samples.items() if dry else ():
        yield f"    {kind}: {line}"
    for left in done.left_out:
        yield f"  {say(lang, 'bundle.left_out')}  {say(lang, left.key, path=left.path, **left.values)}"
    if not dry:
        yield say(lang, "bundle.look", path=done.path)


def _save_names(path: str, done: Bundled, lang: str) -> None:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({new: old for old, new in sorted(done.names.items())}, file, indent=1, ensure_ascii=False)
    except OSError as error:
        raise click.UsageError(say(lang, "bundle.unwritable", path=path, reason=error.strerror or error)) from None
