from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema

import doctor.views.json
from doctor.engine.model import Role
from doctor.session.watch.model import Kind
from doctor.views.watch_json import announcement
from tests.session.watch.announcements import said


def test_an_announcement_is_the_schemas_finding_with_what_is_new_of_it() -> None:
    schema = json.loads(Path(doctor.views.json.__file__).with_name("report.schema.json").read_text())
    line = announcement(said(episode=2), "en")
    data = json.loads(line)
    assert "\n" not in line
    jsonschema.validate(data, {**schema["$defs"]["finding"], "$defs": schema["$defs"]})
    jsonschema.validate(data["announced"], schema["$defs"]["announced"])
    assert data["rule"] == "MEM001"
    assert data["announced"]["episode"] == 2


def test_it_names_the_findings_that_are_told_with_it_from_now_on() -> None:
    first = said(key="MEM001@2")
    assert first.finding is not None
    silence = replace(first.finding, rule=replace(first.finding.rule, id="LIV001"), role=Role.CONSEQUENCE)
    diagnosis = first.report.diagnosis
    for by, keys in (("MEM001", ["LIV001@2"]), ("HNG051", [])):
        findings = (*diagnosis.findings, replace(silence, explained_by=by))
        report = replace(first.report, diagnosis=replace(diagnosis, findings=findings))
        assert json.loads(announcement(replace(first, report=report), "en"))["announced"]["follow"] == keys


def test_the_id_is_the_same_after_a_restart_and_another_for_other_news() -> None:
    def name(**change: object) -> str:
        return str(json.loads(announcement(said(**change), "en"))["announced"]["id"])  # type: ignore[arg-type]

    assert name(at=1.0) == name(at=2.0)
    assert len({name(), name(kind=Kind.UPDATED), name(key="x"), name(entities=("rank:4",)), name(episode=1)}) == 5


def test_a_failure_that_no_rule_explains_has_the_same_form() -> None:
    schema = json.loads(Path(doctor.views.json.__file__).with_name("report.schema.json").read_text())
    data = json.loads(announcement(said(kind=Kind.UNEXPLAINED, finding=None, entities=()), "en"))
    jsonschema.validate(data, {**schema["$defs"]["finding"], "$defs": schema["$defs"]})
    assert (data["rule"], data["severity"], data["entities"]) == ("", "fatal", ["job"])
