"""`pdoctor ui`: the terminal interface, on files, on this node, on a saved session, or in a browser."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from doctor.cli import options
from doctor.cli.tui import open_tui
from doctor.messages import say
from doctor.rulebase.load import load_rulebase
from doctor.session.collecting import Files, Node, Source
from doctor.session.inputs import InputError
from doctor.session.node import this_host
from doctor.session.saved import Saved, is_saved, read_saved


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--web", is_flag=True, help="In a browser on this machine (extra `web`).")
@click.option("--port", type=click.IntRange(1, 65535), default=8765, show_default=True, help="Port for --web.")
@options.rules
@options.lang
def ui(paths: tuple[str, ...], web: bool, port: int, rules: tuple[Path, ...], lang: str) -> int:
    """Walk through a diagnosis on the screen, to a change of the job's own files.

    PATH is what `pdoctor analyze` reads, or a session that was saved; without one, the node you are on is looked at.
    """
    if web:
        return _serve(paths, rules, lang, port)
    loaded = load_rulebase(rules)
    try:
        saved = Saved(paths, not paths)
        if len(paths) == 1 and is_saved(Path(paths[0])):
            saved = read_saved(Path(paths[0]), loaded.base.questions, loaded.base.catalogue)
    except InputError as error:
        raise click.UsageError(say(lang, error.note.key, path=error.note.path, **error.note.values)) from None
    gone = next((path for path in saved.paths if "://" not in path and not os.path.exists(path)), "")
    if gone:
        raise click.UsageError(say(lang, "tui.collect.none", path=gone))
    source: Source = Node(loaded, this_host(), saved.paths) if saved.node else Files(loaded, saved.paths)
    return open_tui(source, saved.answers, lang, "degraded", saved)[0]


def _serve(paths: tuple[str, ...], rules: tuple[Path, ...], lang: str, port: int) -> int:
    try:
        from textual_serve.server import Server
    except ImportError:
        raise click.UsageError(say(lang, "tui.no_web")) from None
    words = [sys.executable, "-m", "doctor", "ui", "--lang", lang]
    words += [word for folder in rules for word in ("--rules", str(folder))]
    # Loopback alone: what the job left behind is nobody else's business.
    Server(shlex.join([*words, "--", *paths]), host="127.0.0.1", port=port, title="pdoctor").serve()
    return 0
