"""`pdoctor collect`: one file with what a diagnosis needs, and without secrets."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from doctor.cli import options
from doctor.messages import say
from doctor.rulebase.load import load_rulebase
from doctor.session.bundle_writer import Bundled, taken_by_kind, write_bundle
from doctor.session.inputs import InputError
from doctor.session.node import look, this_host
from doctor.views.present import size
from doctor.views.safe import visible


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE", help="A .tar.gz or .zip file.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--no-node", is_flag=True, help="Take the PATHs alone, nothing of this node.")
@click.option("--keep-hosts", is_flag=True, help="Leave host names and public addresses as they are.")
@click.option("--names", type=click.Path(), metavar="FILE", help="Write who is who in the bundle to FILE. Keep it.")
@options.rules
@options.lang
@options.quiet
def collect(
    paths: tuple[str, ...],
    output: str,
    force: bool,
    no_node: bool,
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
    if names is not None and os.path.lexists(names) and not force:
        raise click.UsageError(say(lang, "bundle.exists", path=names, option="--force"))
    try:
        base = load_rulebase(rules).base
        outcomes = [] if no_node else look(this_host())
        done = write_bundle(output, paths, base, outcomes, keep_hosts=keep_hosts, force=force)
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    if names is not None:
        _save_names(names, done, lang)
    for line in _told(done, lang):
        sys.stdout.write(visible(line) + "\n")
    if not quiet:
        for note in done.notes:
            options.note(say(lang, note.key, path=note.path, **note.values))
    return 0


def _told(done: Bundled, lang: str) -> Iterator[str]:
    """What was taken, what was hidden, what was left out."""
    manifest = done.manifest
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
    for left in done.left_out:
        yield f"  {say(lang, 'bundle.left_out')}  {say(lang, left.key, path=left.path, **left.values)}"
    yield say(lang, "bundle.look", path=done.path)


def _save_names(path: str, done: Bundled, lang: str) -> None:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({new: old for old, new in sorted(done.names.items())}, file, indent=1, ensure_ascii=False)
    except OSError as error:
        raise click.UsageError(say(lang, "bundle.unwritable", path=path, reason=error.strerror or error)) from None
