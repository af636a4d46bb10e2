from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts.model import FactSpec, Quality, Scope
from doctor.session.answers import read_answers
from doctor.session.inputs import InputError

CATALOGUE = {
    "config.tp": FactSpec("config.tp", "int", "1", Scope.JOB, "tensor-parallel size"),
    "node.shm_total": FactSpec("node.shm_total", "int", "B", Scope.NODE, "size of /dev/shm"),
    "env.*": FactSpec("env.*", "str", "1", Scope.JOB, "environment variable"),
}


def answers(folder: Path, text: str) -> list[tuple[str, object, str]]:
    path = folder / "answers.yaml"
    path.write_text(text, encoding="utf-8")
    facts = read_answers(str(path), CATALOGUE).facts
    assert all(fact.quality is Quality.ANSWERED for fact in facts)
    return [(fact.name, fact.value, fact.entity) for fact in facts]


def test_facts_of_the_job_and_of_other_entities(tmp_path: Path) -> None:
    text = 'config.tp: 8\n"node:n1 node.shm_total": 67108864\nenv.NCCL_DEBUG: INFO\n'
    assert answers(tmp_path, text) == [
        ("config.tp", 8, "job"),
        ("node.shm_total", 67108864, "node:n1"),
        ("env.NCCL_DEBUG", "INFO", "job"),
    ]


def test_an_empty_file_answers_nothing(tmp_path: Path) -> None:
    assert answers(tmp_path, "") == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("config.tpp: 8", "answers.unknown", "config.tp"),
        ("config.tp: eight", "answers.type", "int"),
        ("config.tp: true", "answers.type", "int"),
        ("- config.tp", "answers.unreadable", "mapping"),
        ("config.tp: [", "answers.unreadable", "answers.yaml"),
    ],
)
def test_a_mistake_names_the_fact_and_what_would_be_right(tmp_path: Path, text: str, key: str, value: str) -> None:
    with pytest.raises(InputError) as caught:
        answers(tmp_path, text)
    assert caught.value.note.key == key
    assert value in " ".join(caught.value.note.values.values())
