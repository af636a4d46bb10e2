"""An announcement as JSON on one line: the finding as the schema has it, and under `announced` what is new."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from doctor.messages import say
from doctor.session.watch.model import Announcement
from doctor.views import present
from doctor.views.json import SCHEMA, evidence_data, finding_data, moment
from doctor.views.safe import json_safe


def announcement(said: Announcement, lang: str) -> str:
    """The line, without its end; `announced` stands first."""
    data = {
        "announced": {
            "id": _id(said),
            "kind": str(said.kind),
            "key": said.text_key,
            "at": moment(said.at),
            "first_seen": moment(said.first_seen),
            "episode": said.episode,
            "count": said.count,
            "follow": _follow(said),
        },
        "schema": SCHEMA,
        **(finding_data(said.finding, said.report, lang) if said.finding else _unexplained(said, lang)),
    }
    data["entities"] = list(said.entities) or ["job"]
    return json_safe(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def _follow(said: Announcement) -> list[str]:
    """The keys of findings that follow from this one: what was announced of them is told with it from now on."""
    if said.finding is None:
        return []
    _, at, episode = said.text_key.partition("@")
    findings = said.report.diagnosis.findings
    return [f"{one.rule.id}{at}{episode}" for one in findings if one.explained_by == said.finding.rule.id]


def _unexplained(said: Announcement, lang: str) -> dict[str, Any]:
    """A failure that no rule explains, in the same form: without rule and cause, with the lines that show it."""
    nothing: dict[str, Any] = {"notes": [], "follows": [], "differential": [], "remedies": [], "references": []}
    return {
        "rule": "", "cause": "", "title": say(lang, "attach.unexplained"), "severity": "fatal", "role": "root",
        "confidence": 0.0, "label": "possible", "explained_by": None, "because": "",
        "evidence": [evidence_data(event.source, event, lang) for event in present.unexplained(said.report)], **nothing,
    }  # fmt: skip


def _id(said: Announcement) -> str:
    """The same for an announcement that is made once more after a restart."""
    label = said.finding.label if said.finding else ""
    parts: list[Any] = [said.text_key, said.kind, label, list(said.entities), said.episode]
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]
