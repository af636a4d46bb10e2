"""`pdoctor rules questions`: what a person may be asked."""

from __future__ import annotations

from pathlib import Path

import click

from doctor.cli import options
from doctor.cli.main import OK


@click.command("questions")
@options.rules
@options.lang
def list_questions(rules: tuple[Path, ...], lang: str) -> int:
    """Every question with its id and the keys of its answers, as --answer and --answers take them."""
    from doctor.rulebase.load import load_rulebase
    from doctor.views.safe import visible

    loaded = load_rulebase(rules)
    for question in loaded.base.questions.values():
        click.echo(visible(f"{question.id}  {question.text.get(lang)}"))
        for answer in question.answers:
            click.echo(visible(f"    {answer.key:16}  {answer.text.get(lang)}"))
    for problem in loaded.problems:
        options.note(str(problem))
    return OK
