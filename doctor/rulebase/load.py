"""Finds, reads and checks the rule base; the checked result is kept as a pack keyed by the content of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from doctor.facts.model import EventSpec, FactSpec
from doctor.rulebase import pack
from doctor.rulebase.document import MisplacedError, load_yaml, locate
from doctor.rulebase.errors import RuleError
from doctor.rulebase.model import Cause, Question, Rule, RuleBase
from doctor.rulebase.names import Known, check_references, check_rule
from doctor.rulebase.questions import check_question, read_questions
from doctor.rulebase.read import read_catalogue, read_causes, read_events, read_rule

T = TypeVar("T")
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Loaded:
    """A rule base, and what was wrong with files that are left out of it."""

    base: RuleBase
    problems: tuple[RuleError, ...] = ()


def rules_folder() -> Path:
    """The folder of the rules that ship with pdoctor: in the wheel, else beside the package in a checkout."""
    package = Path(__file__).parent.parent
    shipped = package / "_data" / "rules"
    return shipped if shipped.is_dir() else package.parent / "rules"


def catalogue_folder() -> Path:
    return Path(__file__).parent.parent / "facts" / "catalogue"


def load_rulebase(folders: Sequence[Path] = (), cache: Path | None = None) -> Loaded:
    """The shipped rules and those of `folders`, from the pack when its files have not changed.

    A file with a mistake is left out and reported in `problems`; the rest is loaded. `cache` is the folder of packs
    (default: the user's cache folder); one that cannot be written only costs time.
    """
    files = [file for folder in (rules_folder(), *folders) for file in _files(folder)]
    files += _files(catalogue_folder())
    place = pack.path_of(files, cache)
    if (found := pack.load(place)) is not None:
        return Loaded(*found)
    loaded = read_files(files)
    pack.save(place, loaded.base, loaded.problems)
    return replace(loaded, base=pack.without_tests(loaded.base))


def _files(folder: Path) -> list[tuple[Path, str]]:
    """The YAML files below `folder` with the names they are shown by, in sorted order."""
    return [(path, f"{folder.name}/{path.relative_to(folder)}") for path in sorted(folder.rglob("*.yaml"))]


def read_files(
    files: Iterable[tuple[Path, str]],
    facts: Mapping[str, FactSpec] = NOTHING,
    messages: Mapping[str, EventSpec] = NOTHING,
) -> Loaded:
    """Reads and checks the files themselves, tests included; positions of mistakes are found here.

    `facts` and `messages` are known beside those that the files define.
    """
    problems: list[RuleError] = []
    catalogue, events = dict(facts), dict(messages)
    causes: dict[str, Cause] = {}
    rules: dict[str, tuple[Rule, Path]] = {}
    asked: dict[str, tuple[Question, Path, str]] = {}

    def attempt(path: Path, shown: str, read: Callable[[Any], T]) -> T | None:
        try:
            return read(load_yaml(path, shown))
        except MisplacedError as error:
            problems.append(_placed(error, path, shown))
        except RuleError as error:
            problems.append(error)
        return None

    for path, shown in files:
        folder = shown.split("/")[-2]
        if folder == "catalogue":
            catalogue |= attempt(path, shown, read_catalogue) or {}
        elif folder == "events":
            found = attempt(path, shown, read_events) or {}
            for name in found.keys() & events.keys():
                problems.append(RuleError(f"event {name} is defined twice", shown, *locate(path, (name,))))
            events |= found
        elif path.name == "causes.yaml":
            causes |= attempt(path, shown, read_causes) or {}
        elif folder == "questions":
            for question in attempt(path, shown, read_questions) or ():
                if question.id in asked:
                    problems.append(RuleError(f"question {question.id} exists already: {asked[question.id][2]}", shown))
                else:
                    asked[question.id] = (question, path, shown)
        elif folder != "beliefs":
            rule = attempt(path, shown, lambda data, shown=shown: read_rule(data, shown))  # type: ignore[misc]
            if rule is not None and rule.id in rules:
                problems.append(RuleError(f"rule {rule.id} exists already: {rules[rule.id][0].path}", shown))
            elif rule is not None:
                rules[rule.id] = (rule, path)
    known = Known(catalogue, events, causes, rules)
    good: dict[str, Rule] = {}
    for rule, path in rules.values():
        wrong = check_rule(rule, known)
        problems += [_placed(error, path, rule.path) for error in (*wrong, *check_references(rule, known))]
        if not wrong:
            good[rule.id] = rule
    questions: dict[str, Question] = {}
    for question, path, shown in asked.values():
        faults = check_question(question, known)
        problems += [_placed(error, path, shown) for error in faults]
        if not faults:
            questions[question.id] = question
    return Loaded(RuleBase(good, events, catalogue, causes, questions), tuple(problems))


def read_rulebase(folders: Sequence[Path] = ()) -> Loaded:
    """The rule base with the tests of its rules, read from the files and not from the pack."""
    chosen = (rules_folder(), *folders, catalogue_folder())
    return read_files([file for folder in chosen for file in _files(folder)])


def _placed(error: MisplacedError, path: Path, shown: str) -> RuleError:
    line, column = locate(path, error.keys)
    inside = max(error.column - 1, 0)
    return RuleError(error.message, shown, line, column + inside if column else 0)
