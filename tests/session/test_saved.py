"""A session is kept and taken up again."""

from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.answers import Answers, add_answers
from doctor.session.inputs import InputError
from doctor.session.saved import Saved, is_saved, read_saved, to_text

BASE = load_rulebase(()).base
QUESTIONS, CATALOGUE = BASE.questions, BASE.catalogue


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    question = next(iter(QUESTIONS.values()))
    answers = add_answers(Answers(), [f"{question.id}={question.answers[0].key}"], QUESTIONS)
    saved = Saved(("/a/b", "s3://c/d"), True, answers, ("MEM001:halve",), "plan", "tp=4 gpu=H100")
    path = tmp_path / "session.json"
    path.write_text(to_text(saved))
    assert is_saved(path)
    again = read_saved(path, QUESTIONS, CATALOGUE)
    assert (again.paths, again.node, again.chosen, again.step) == (saved.paths, True, saved.chosen, "plan")
    assert again.settings == saved.settings
    assert again.answers.keys == answers.keys
    assert [fact.value for fact in again.answers.facts] == [fact.value for fact in answers.facts]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"kind": "pdoctor session", "version": 99}', '{"kind": "pdoctor session", "version": 1, "paths": 3}'],
)
def test_what_is_no_session_is_said_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "session.json"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_saved(path, QUESTIONS, CATALOGUE)
    assert error.value.note.key == "session.unreadable"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("config.tp", '"x"'),
        ("no.such", "1"),
        ("run.step_time", "NaN"),
        ("config.tp", '[{"a": 1}]'),
        ("config.tp", "{}"),
    ],
)
def test_facts_that_can_be_none_are_said_in_one_line(tmp_path: Path, name: str, value: str) -> None:
    path = tmp_path / "session.json"
    whole = to_text(Saved(("/a",)))
    stated = f'"stated": [{{"name": "{name}", "entity": "job", "value": {value}}}]'
    path.write_text(whole.replace('"stated": []', stated))
    assert stated in path.read_text()
    with pytest.raises(InputError):
        read_saved(path, QUESTIONS, CATALOGUE)


def test_a_session_nested_beyond_measure_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text('{"kind": "pdoctor session", "version": 1, "paths": ' + "[" * 100_000)
    assert is_saved(path)
    with pytest.raises(InputError):
        read_saved(path, QUESTIONS, CATALOGUE)


def test_a_log_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(b"\xff\xfe iteration 10")
    assert not is_saved(path)
    assert not is_saved(tmp_path)
