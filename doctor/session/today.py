"""Today's job from the files that it left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doctor.planner.families import model as model_of
from doctor.planner.from_facts import Understood, understand
from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import judge, read_paths
from doctor.session.answers import Answers


def understand_paths(paths: Sequence[str], given: Mapping[str, Any]) -> tuple[Understood, Mapping[str, bytes]]:
    """The job that files describe, with what a person says beside (names of doctor.planner.from_facts), and those files
    that configure it. Raises InputError where nothing can be read, PlanError for a model that is not known."""
    material = read_paths(paths, load_rulebase(()))
    store = judge(material, Answers()).store
    told = dict(given)
    model = told.pop("model", None)
    return understand(store, shape=model_of(model) if model else None, **told), dict(material.configs)
