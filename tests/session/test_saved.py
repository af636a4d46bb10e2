"""A session is kept and taken up again."""

from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.answers import Answers, add_answers
from doctor.session.inputs import InputError
from doctor.session.saved import Saved, is_saved, read_saved, to_text

QUESTIONS = load_rulebase(()).base.questions


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    question = next(iter(QUESTIONS.values()))
    answers = add_answers(Answers(), [f"{question.id}={question.answers[0].key}"], QUESTIONS)
    saved = Saved(("/a/b", "s3://c/d"), True, answers, ("MEM001:halve",), "plan", "tp=4 gpu=H100")
    path = tmp_path / "session.json"
    path.write_text(to_text(saved))
    assert is_saved(path)
    again = read_saved(path, QUESTIONS)
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
        read_saved(path, QUESTIONS)
    assert error.value.note.key == "session.unreadable"


def test_a_log_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(b"\xff\xfe iteration 10")
    assert not is_saved(path)
    assert not is_saved(tmp_path)
