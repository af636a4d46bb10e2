"""The taken remedies as one change of the job's own files, and what of them is left to a person.

A remedy changes settings by neutral names (`patch`), options by the framework's own (`flags`) and variables (`env`).
Each part is written whole or not at all, after what the parts before it wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doctor.adapters.errors import AdapterError, Unavailable
from doctor.adapters.flag_text import own_settings
from doctor.adapters.launch_script import set_variables, sets
from doctor.adapters.model import Note, Own, Rendered
from doctor.adapters.settings import checked
from doctor.planner.effect import effect
from doctor.planner.errors import PlanError
from doctor.planner.job import Job
from doctor.planner.knobs import difference, known, value
from doctor.rulebase.model import Text
from doctor.session.asked import Asked
from doctor.session.change import KNOWN, Draft, FileChange

CONFIG, ENV = "config", "env"


@dataclass(frozen=True, slots=True)
class Edits:
    """files: a diff a file. done: parts, as (RULE:remedy, kind), that the files hold, or that need no change; left: why
    another part is not written. A kind is `config`, `env` or a framework."""

    files: tuple[FileChange, ...] = ()
    done: frozenset[tuple[str, str]] = frozenset()
    left: Mapping[tuple[str, str], Text] = field(default_factory=dict)

    @property
    def patch(self) -> str:
        """All diffs, for `patch -p1` in the folder of the files."""
        diffs = (change.diff for change in self.files)
        return "".join(diff if diff.endswith("\n") else f"{diff}\n" for diff in diffs if diff)


def edits(configs: Mapping[str, bytes], asked: Sequence[Asked], before: Job | None, after: Job | None) -> Edits:
    """The change of the files that makes the job `after` of `before` and holds what the remedies ask for beside.

    Where remedies want different values of one setting, the earlier one has it.
    """
    planned = frozenset(difference(before, after)) if before is not None and after is not None else frozenset[str]()
    writer = _Writer(Draft(configs), after or before, planned)
    if before is not None and after is not None:
        writer.draft.change_job(before, after)
    for remedy in asked:
        writer.write(remedy)
    return Edits(writer.draft.files(), frozenset(writer.done), writer.left)


class _Writer:
    def __init__(self, draft: Draft, job: Job | None, planned: frozenset[str]) -> None:
        self.draft, self.job, self.planned = draft, job, planned
        self.done: set[tuple[str, str]] = set()
        self.left: dict[tuple[str, str], Text] = {}
        self._owner: dict[str, tuple[Asked, Any]] = {}

    def write(self, remedy: Asked) -> None:
        config = (remedy.name, CONFIG)
        if remedy.settings:
            self._keep(config, self._config(remedy))
        # Flags say the same as the settings, for a person.
        if config in self.done:
            self.done.update((remedy.name, framework) for framework in remedy.flags)
        else:
            self._flags(remedy)
        if remedy.env:
            self._keep((remedy.name, ENV), self._env(remedy))

    def _keep(self, part: tuple[str, str], why: Text | None) -> None:
        if why is None:
            self.done.add(part)
        else:
            self.left[part] = why

    def _config(self, remedy: Asked) -> Text | None:
        if remedy.why:
            return remedy.why
        unknown = [name for name, wanted in remedy.settings.items() if wanted is None]
        rest = {
            name: wanted
            for name, wanted in remedy.settings.items()
            if wanted is not None and not (remedy.planned and known(name))
        }
        if unknown and not remedy.planned:
            names = ", ".join(unknown)
            return Text(f"the new value of {names} depends on what is not known", f"{names} 的新值取决于未知信息")
        if not rest:
            return None
        if clash := self._clash(remedy, rest):
            return clash
        if not self.draft.adapters:
            return NO_CONFIG
        state = dict(self.draft.texts)
        try:
            left = self.draft.render(checked(rest), self._known())
        except PlanError as error:
            return error.text
        if left:
            self.draft.texts.update(state)
            return _said(left)
        self._own(remedy, rest)
        return None

    def _flags(self, remedy: Asked) -> None:
        known_here = {adapter.name for adapter in self.draft.adapters.values()}
        for framework, text in remedy.flags.items():
            if framework not in known_here:
                continue
            try:
                why = self._options(remedy, framework, own_settings(framework, text))
            except Unavailable as reason:
                why = reason.text
            self._keep((remedy.name, framework), why)
        # The words for a framework whose file is not here are of no use where those for another are written.
        written = any((remedy.name, framework) in self.done for framework in remedy.flags)
        others = [framework for framework in remedy.flags if framework not in known_here]
        names = ", ".join(others)
        absent = Text(f"no file of {names} was handed over", f"未提供 {names} 的配置文件")
        for framework in others:
            self._keep((remedy.name, framework), None if written else absent)

    def _options(self, remedy: Asked, framework: str, own: Own) -> Text | None:
        draft = self.draft
        paths = [path for path, adapter in draft.adapters.items() if adapter.name == framework]
        if clash := self._clash(remedy, own):
            return clash
        path = draft.main(paths)
        adapter, text, stated = draft.adapters[path], draft.texts[path], dict(draft.stated(path))
        try:
            rendered = adapter.write(text, own, self._known(), path)
        except (AdapterError, PlanError) as error:
            return error.text
        if rendered.left:
            return _said(rendered.left)
        draft.put(path, rendered.text, rendered.notes)
        if why := self._refused(path, stated):
            draft.texts[path] = text
            return why
        self._own(remedy, own)
        return None

    def _refused(self, path: str, before: Mapping[str, Any]) -> Text | None:
        """Why the settings that a file has now are not to be: the plan has others, or the job would not start."""
        new = {name: now for name, now in self.draft.stated(path).items() if known(name) and before.get(name) != now}
        if other := ", ".join(name for name in new if name in self.planned):
            return Text(f"the plan sets {other} otherwise", f"方案已将 {other} 设为其他值")
        if self.job is None or not new:
            return None
        try:
            effect(self.job, new)
        except PlanError as error:
            return Text(f"not for this job: {error.text.en}", f"不适用于此作业：{error.text.zh}")
        return None

    def _env(self, remedy: Asked) -> Text | None:
        draft = self.draft
        if clash := self._clash(remedy, remedy.env):
            return clash
        for name in remedy.env:
            if place := _set_elsewhere(draft, name):
                return Text(f"{place} sets {name}: change it there", f"{place} 设置了 {name}：请在那里修改")
        if not draft.scripts:
            return NO_SCRIPT
        where = [path for path in draft.scripts if any(sets(draft.texts[path], name) for name in remedy.env)]
        if not where and len(draft.scripts) > 1:
            main = draft.main(draft.scripts)
            if main not in draft.adapters:
                names = ", ".join(draft.scripts)
                return Text(f"which of {names} starts the job is not known", f"不知道作业由哪个脚本启动：{names}")
            where = [main]
        found: list[tuple[str, Rendered]] = []
        for path in where or draft.scripts:
            rendered = set_variables(path, draft.texts[path], remedy.env)
            if rendered.left:
                return _said(rendered.left)
            found.append((path, rendered))
        for path, rendered in found:
            draft.put(path, rendered.text, rendered.notes)
        self._own(remedy, remedy.env)
        return None

    def _known(self) -> dict[str, Any]:
        return {name: value(self.job, name) for name in KNOWN} if self.job else {}

    def _clash(self, remedy: Asked, wanted: Mapping[str, Any]) -> Text | None:
        for name, new in wanted.items():
            owner, has = self._owner.get(name, (remedy, new))
            if str(has) != str(new):
                return Text(
                    f"{name} is already set otherwise by: {owner.title.get('en')}",
                    f"{name} 已由另一项修复设为其他值：{owner.title.get('zh')}",
                )
        return None

    def _own(self, remedy: Asked, wanted: Mapping[str, Any]) -> None:
        for name, new in wanted.items():
            self._owner.setdefault(name, (remedy, new))


NO_CONFIG = Text("no configuration of the job that could be changed was handed over", "未提供可修改的作业配置文件")
NO_SCRIPT = Text("the script that starts the job was not handed over", "未提供启动作业的脚本")


def _said(notes: Iterable[Note]) -> Text:
    """The reasons in one line, each once with the settings it is for."""
    knobs: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        knobs.setdefault((note.en, note.zh), []).append(note.knob)
    said = [(", ".join(dict.fromkeys(names)), en, zh) for (en, zh), names in knobs.items()]
    return Text("; ".join(_named(names, en) for names, en, _ in said), "；".join(_named(n, zh) for n, _, zh in said))


def _named(knob: str, told: str) -> str:
    return told if not knob or told.startswith(knob) else f"{knob}: {told}"


def _set_elsewhere(draft: Draft, name: str) -> str:
    """The place in a file of another kind that sets the variable: an env block of a container or of a launcher."""
    said = re.compile(rf"\b{re.escape(name)}\b[\"']?\s*[\]:=,]|name:\s*[\"']?{re.escape(name)}\b")
    for path, text in draft.given.items():
        if path not in draft.scripts and (found := said.search(text)):
            return f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
    return ""
