"""`pdoctor rules beliefs`: statements about distributed training that are often heard, and what is true."""

from __future__ import annotations

from pathlib import Path

import click

from doctor.cli import options
from doctor.cli.main import OK


@click.command()
@click.argument("belief", required=False)
@options.rules
@options.lang
def beliefs(belief: str | None, rules: tuple[Path, ...], lang: str) -> int:
    """List what people believe, with a verdict; with BELIEF (an id), its proof, numbers and sources as Markdown."""
    from doctor.rulebase.belief import VERDICTS
    from doctor.rulebase.belief_page import belief_text
    from doctor.rulebase.beliefs import read_beliefs
    from doctor.rulebase.errors import suggestion
    from doctor.views.safe import visible

    found = read_beliefs(rules)
    for problem in found.problems:
        options.note(str(problem))
    if belief is None:
        width = max(map(len, found.all), default=0)
        for known in found.all.values():
            verdict = VERDICTS[known.verdict].get(lang)
            click.echo(f"{known.id:{width}}  [{verdict}] {visible(known.belief.get(lang))}")
        return OK
    if belief.lower() not in found.all:
        raise click.UsageError(f"no belief is called {belief}{suggestion(belief, found.all)}")
    text = belief_text(found.all[belief.lower()], found, lang)
    click.echo("\n".join(visible(line) for line in text.splitlines()))
    return OK
