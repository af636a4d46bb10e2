"""`pdoctor rules`: look at the rule base, check it, test it, add to it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import ClassVar

import click

from doctor.cli import options
from doctor.cli.lazy import LazyGroup
from doctor.cli.main import FOUND, OK
from doctor.cli.settings import SEVERITIES


class Rules(LazyGroup):
    lazy: ClassVar = {
        "list": ("doctor.cli.rules:list_rules", "Every rule: id, severity, cause, title."),
        "show": ("doctor.cli.rules:show", "The page of a rule: what shows it, what follows, what cures it."),
        "search": ("doctor.cli.rule_search:search", "Find rules by a line of a log, or by words."),
        "beliefs": ("doctor.cli.beliefs:beliefs", "What people believe about distributed training, and what is true."),
        "pages": ("doctor.cli.rules:write_pages", "Write the pages of all rules, with indexes, into a folder."),
        "questions": ("doctor.cli.questions:list_questions", "What a person may be asked, with the keys of answers."),
        "check": ("doctor.cli.rules:check", "Read every file and say what is wrong, with its place."),
        "test": ("doctor.cli.rules:run_tests", "Run the tests inside the rule files."),
        "new": ("doctor.cli.rules:new", "Begin a rule: one file, with its tests."),
    }


@click.group(cls=Rules)
def rules() -> None:
    """Look at the rule base, check it, test it, add to it."""


@click.command("list")
@click.option("--area", metavar="AREA", help="Only the rules of one area, such as oom or nccl.")
@click.option("--severity", type=click.Choice(SEVERITIES), help="Only the rules of one severity.")
@options.rules
@options.lang
def list_rules(area: str | None, severity: str | None, rules: tuple[Path, ...], lang: str) -> int:
    """Every rule: id, severity, cause, title."""
    from doctor.messages import say
    from doctor.rulebase.errors import suggestion
    from doctor.rulebase.load import load_rulebase
    from doctor.views.safe import visible

    loaded = load_rulebase(rules)
    areas = sorted({rule.area for rule in loaded.base.rules.values()})
    if area and area not in areas:
        raise click.UsageError(f"no area is called {area}{suggestion(area, areas)}; there are {', '.join(areas)}")
    for rule in sorted(loaded.base.rules.values(), key=lambda rule: rule.id):
        if (area and rule.area != area) or (severity and rule.severity != severity):
            continue
        grade = say(lang, f"severity.{rule.severity}")
        click.echo(f"{rule.id:8}{grade:10}{visible(rule.cause):36}  {visible(rule.title.get(lang))}")
    for problem in loaded.problems:
        options.note(str(problem))
    return OK


@click.command()
@click.argument("rule")
@options.rules
@options.lang
def show(rule: str, rules: tuple[Path, ...], lang: str) -> int:
    """The page of RULE (an id or a cause) as Markdown: what shows it, what follows from it, what cures it."""
    from doctor.rulebase.errors import suggestion
    from doctor.rulebase.load import load_rulebase
    from doctor.rulebase.pages import page
    from doctor.views.safe import visible

    base = load_rulebase(rules).base
    found = [known for known in base.rules.values() if rule.upper() == known.id or rule in (known.cause, known.name)]
    if not found:
        raise click.UsageError(f"no rule or cause is called {rule}{suggestion(rule, [*base.rules, *base.causes])}")
    for known in found:
        click.echo("\n".join(visible(line) for line in page(known, base, lang).splitlines()))
    return OK


@click.command("pages")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@options.rules
@options.lang
def write_pages(folder: Path, rules: tuple[Path, ...], lang: str) -> int:
    """Write a Markdown page for every rule into FOLDER, and indexes of them by id, by message and by cause.

    index.html there finds pages by words or by a pasted line, without a server.
    """
    from doctor.rulebase.belief_page import beliefs_page
    from doctor.rulebase.beliefs import read_beliefs
    from doctor.rulebase.load import load_rulebase
    from doctor.rulebase.site import files

    base = load_rulebase(rules).base
    beliefs = beliefs_page(read_beliefs(rules), lang)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (*files(base, lang), ("beliefs.md", beliefs)):
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{folder} cannot be written: {error.strerror}") from None
    click.echo(f"{len(base.rules)} pages in {folder}")
    return OK


@click.command()
@options.rules
@options.quiet
def check(rules: tuple[Path, ...], quiet: bool) -> int:
    """Read every file of the rule base and say what is wrong, with its place and what would be right."""
    from doctor.rulebase.beliefs import read_beliefs
    from doctor.rulebase.lint import lint
    from doctor.rulebase.load import read_rulebase
    from doctor.views.safe import visible

    loaded = read_rulebase(rules)
    faults = [*lint(loaded), *read_beliefs(rules, loaded.base.rules).problems]
    for fault in faults:
        click.echo(visible(str(fault)))
    if faults:
        options.note(f"{len(faults)} to put right")
        return FOUND
    if not quiet:
        base = loaded.base
        click.echo(f"{len(base.rules)} rules, {len(base.events)} events, {len(base.catalogue)} facts: in order")
    return OK


@click.command("test")
@click.argument("ids", nargs=-1, metavar="[RULE]...")
@options.rules
@options.quiet
def run_tests(ids: tuple[str, ...], rules: tuple[Path, ...], quiet: bool) -> int:
    """Run the tests inside the rule files: of RULE, or of all."""
    from doctor.rulebase.errors import RuleError, suggestion
    from doctor.rulebase.load import read_rulebase
    from doctor.rulebase.testing import rule_tests
    from doctor.session.rule_tests import run_rule_test
    from doctor.views.safe import visible

    base = read_rulebase(rules).base
    wanted = {name.upper() for name in ids}
    for name in sorted(wanted - base.rules.keys()):
        raise click.UsageError(f"no rule is called {name}{suggestion(name, base.rules)}; see: pdoctor rules check")
    try:
        tests = [test for test in rule_tests(base) if not wanted or test.rule in wanted]
    except RuleError as error:
        raise click.UsageError(str(error)) from None
    failed = 0
    for test in tests:
        faults = run_rule_test(test, base)
        failed += bool(faults)
        for fault in faults:
            click.echo(visible(f"{test.path}: {test.name}: {fault}"))
    if failed or not quiet:
        click.echo(f"{len(tests) - failed} passed, {failed} failed")
    return FOUND if failed else OK


@click.command()
@click.argument("rule")
@click.argument("name")
@click.option("--cause", help="Id in the list of causes; NAME when not given.")
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Folder of rules.")
def new(rule: str, name: str, cause: str | None, into: Path | None) -> int:
    """Begin a rule: RULE is a new id such as MEM099, NAME reads on from "this job has ..."."""
    from doctor.cli.rule_template import write_rule

    try:
        path = write_rule(rule.upper(), name, cause or name, into)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    where = f" --rules {shlex.quote(str(into))}" if into else ""
    click.echo(f"{path}: fill it in, then: pdoctor rules check{where}; pdoctor rules test {rule.upper()}{where}")
    return OK
