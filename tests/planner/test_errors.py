"""Every reason why something cannot be planned or changed is there in both languages: the places that give one are
walked, so that none can be forgotten."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from doctor.adapters.errors import AdapterError
from doctor.messages_reasons import TEXTS
from doctor.planner.errors import PlanError, hint, reason
from doctor.planner.knobs import assignments
from doctor.rulebase.model import Text

DOCTOR = Path(__file__).parents[2] / "doctor"
CHINESE = re.compile(r"[\u4e00-\u9fff]")
IN_BOTH = {"AdapterError": 0, "Unavailable": 0, "AdapterError.at": 1}
"""Calls that take a text in each language, and at which place the English one stands."""


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call of the sources by its place and name."""
    for path in sorted(DOCTOR.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(DOCTOR)}:{node.lineno}", ast.unparse(node.func).removeprefix("self."), node


CALLS = tuple(calls())
REASONS = [
    (place, key.value, {word.arg for word in call.keywords})
    for place, name, call in CALLS
    if name in ("reason", "_wrong") and call.args and isinstance(key := call.args[0], ast.Constant)
]
MADE = [
    prefix.value
    for _, name, call in CALLS
    if name == "reason" and isinstance(key := call.args[0], ast.JoinedStr)
    if isinstance(prefix := key.values[0], ast.Constant)
]
"""Beginnings of keys that are put together, such as `record.kind.`."""


def places(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def written(node: ast.expr) -> str:
    """The words of a text, without what is filled in."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))


def is_said_in_both(english: str, chinese: str) -> bool:
    return bool(CHINESE.search(chinese)) or not re.search(r"[A-Za-z]{2,}", english)


@pytest.mark.parametrize(("place", "key", "filled"), REASONS)
def test_every_reason_that_is_given_is_in_the_catalogue_with_its_places(
    place: str, key: str, filled: set[str | None]
) -> None:
    wanted = places(TEXTS[key][0])
    assert filled <= {*wanted, None}, place
    assert None in filled or filled == wanted, place  # None: a mapping is unpacked


def test_no_error_of_a_plan_is_raised_with_words_of_its_own() -> None:
    own = [
        place
        for place, name, call in CALLS
        if name == "PlanError" and isinstance(call.args[0], ast.Constant | ast.JoinedStr)
    ]
    assert not own


def test_what_files_cannot_take_is_said_in_both_languages() -> None:
    for place, name, call in CALLS:
        if name in IN_BOTH and not any(isinstance(each, ast.Starred | ast.Name) for each in call.args):
            english, chinese = call.args[IN_BOTH[name] :]
            assert is_said_in_both(written(english), written(chinese)), place


@pytest.mark.parametrize("key", TEXTS)
def test_every_text_is_chinese_where_its_english_has_words(key: str) -> None:
    english, chinese = (re.sub(r"\{\w+\}", "", text) for text in TEXTS[key])
    assert is_said_in_both(english, chinese)


def test_no_text_of_the_catalogue_is_left_over() -> None:
    used = {key for _, key, _ in REASONS}
    assert not {key for key in TEXTS if key not in used and not key.startswith(tuple(MADE))}


def test_texts_within_texts_are_in_the_same_language() -> None:
    with pytest.raises(PlanError) as caught:
        assignments(["tp=x"])
    assert str(caught.value) == "tp is 'x'; right would be a whole number of at least 1"
    assert caught.value.text.get("zh") == "tp 为 'x'；正确取值：不小于 1 的整数"
    assert hint("lama", ("llama", "qwen")) == Text(", did you mean llama?", "（是否想写 llama？）")
    assert hint("zork", ("llama", "qwen")) == ""


def test_braces_in_a_value_are_kept_as_they_are() -> None:
    assert reason("reason.of", name="{x}", why=reason("reason.gpu", name="{0}", hint="", names="A")).en.startswith(
        "{x}: gpu is {0}, which"
    )


@pytest.mark.parametrize("error", [PlanError(reason("reason.no_loads")), AdapterError.at(3, "no end", "没有结尾")])
def test_errors_go_from_one_process_to_another(error: PlanError | AdapterError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert again.text == error.text and str(again) == error.text.en
