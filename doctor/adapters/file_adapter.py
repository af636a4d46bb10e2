"""The adapter that all frameworks share: their names and their files' syntax are data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from doctor.adapters.batch import TRIANGLE, completed
from doctor.adapters.dialect import Dialect, Form, Repeats, placed
from doctor.adapters.errors import AdapterError, Unavailable
from doctor.adapters.model import Changes, Code, Entry, Found, Note, Own, Rendered, Scalar, Syntax
from doctor.adapters.settings import checked
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.variables import render_variable
from doctor.adapters.ways import Keep, Wanted, Wish, as_number, same
from doctor.planner.errors import PlanError

ENV = "env."
MARK = "\ufeff"
MOST_TWICE = 50
NULLS = ("none", "null", "~")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAdapter:
    """See `model.Adapter`. `forms` are the kinds of files it knows, most telling first."""

    name: str
    forms: tuple[Form, ...]

    def recognises(self, path: str, text: str) -> bool:
        return any(form.fits(path, text.removeprefix(MARK)) for form in self.forms)

    def read(self, text: str, path: str = "") -> dict[str, Found]:
        """The neutral settings of a file. Raises AdapterError where it cannot be read."""
        form, text = self._form(path, text), text.removeprefix(MARK)
        return _read(form, _entries(form.syntax, text))

    def render(self, text: str, changes: Changes, known: Mapping[str, Any] | None = None, path: str = "") -> Rendered:
        """The text with the changes in it, and what could not be written. What it says already stays as it is.

        `known`: the job's settings as they are now where the file does not tell (`dp`, the batch), and `recipe`: the
        function that is meant where a Python file holds several. Raises AdapterError for a file that cannot be read
        and PlanError for a value that has no sense.
        """
        form, given = self._form(path, text), checked(changes)
        mark, text = text[: text.startswith(MARK)], text.removeprefix(MARK)
        stated = _read(form, _entries(form.syntax, text))
        now = dict(known or {}) | {name: found.value for name, found in stated.items()}
        writes = frozenset(name for name in TRIANGLE if name in form.dialect.ways)
        given, notes = completed(given, now, writes)
        recipe = str(now.get("recipe", ""))
        given = {knob: value for knob, value in given.items() if not _said(form, text, stated, knob, value, recipe)}
        if form.dialect.prepare:
            given, said = form.dialect.prepare(given, now)
            notes += said
        wanted: dict[str, list[tuple[str, Wish]]] = {}
        for knob, value in given.items():
            if knob.startswith(ENV):
                text, note = render_variable(text, knob.removeprefix(ENV), value, form.shell)
                notes += [note] if note else []
                continue
            try:
                for key, wish in _wanted(form.dialect, knob, value).items():
                    # What depends on the text follows what was decided before; a plain value takes its place.
                    wanted[key] = [*(wanted.get(key, ()) if callable(wish) else ()), (knob, wish)]
            except Unavailable as reason:
                notes.append(_unavailable(knob, value, reason))
        for knob in given:
            mine = [(key, wish) for key, wishes in wanted.items() for owner, wish in wishes if owner == knob]
            text, said = _apply(form, text, knob, mine, recipe)
            notes += said
        return Rendered(mark + text, tuple(dict.fromkeys(notes)))

    def write(self, text: str, own: Own, known: Mapping[str, Any] | None = None, path: str = "") -> Rendered:
        """The text with settings by the framework's own names in it: all of them, or none and why not.

        A setting that is taken away is None, a switch that is on True. What a neutral setting says whole goes the
        neutral way, so that what belongs to it (the batch) stays true. Raises as `render` does.
        """
        form = self._form(path, text)
        neutral = _neutral(form.dialect, own)
        after = self.render(text, neutral, known, path) if neutral else Rendered(text)
        keys = {form.dialect.ways[knob].keys[0] for knob in neutral}
        rest = {key: value for key, value in own.items() if key not in keys}
        mark, body = after.text[: after.text.startswith(MARK)], after.text.removeprefix(MARK)
        wishes: list[tuple[str, Wish]] = []
        notes: list[Note] = []
        switches = frozenset(key for key, value in rest.items() if value is True)
        if isinstance(form.syntax, CommandLine) and not switches <= form.syntax.switches:
            form = replace(form, syntax=replace(form.syntax, switches=form.syntax.switches | switches))
        for key, value in rest.items():
            there = bool(placed(_entries(form.syntax, body), form.dialect.names(key), form.repeats))
            try:
                wishes.append((key if there else _new_name(self.name, form, key), _literal(form, key, value)))
            except Unavailable as reason:
                notes.append(Note(key, str(reason), reason.text.zh, written=False))
        wishes += [(key, None) for key in _shut_out(body, form, rest)]
        # Each new setting goes right behind the file's own, so the last is written first.
        body, said = _apply(form, body, "", wishes[::-1], "")
        notes += [replace(note, knob=note.knob or self.name) for note in said]
        left = [note for note in (*after.notes, *notes) if not note.written]
        return Rendered(text, tuple(left)) if left else Rendered(mark + body, (*after.notes, *notes))

    def _form(self, path: str, text: str) -> Form:
        for form in self.forms:
            if form.fits(path, text.removeprefix(MARK)):
                return form
        raise AdapterError(
            f"{path or 'this text'} is no file of {self.name}", f"{path or '此文本'} 不是 {self.name} 的文件"
        )


@lru_cache(maxsize=8)
def _entries(syntax: Syntax, text: str) -> tuple[Entry, ...]:
    """The settings of a text, which is looked at many times while it is changed."""
    return syntax.entries(text)


# Files of one mapping, whose settings all stand at its top; sections that others give a setting by its first word.
FLAT = ("hf", "llamafactory", "swift")
SECTIONS = {"fsdp": "fsdp_config", "offload": "deepspeed_config"}
# Settings that accelerate takes for FSDP 1 alone (accelerate, utils/dataclasses.py, FullyShardedDataParallelPlugin).
OF_FSDP_1 = (
    "fsdp_sharding_strategy", "fsdp_limit_all_gathers", "fsdp_sync_module_states", "fsdp_use_orig_params",
    "fsdp_backward_prefetch", "fsdp_forward_prefetch",
)  # fmt: skip
# Settings that a framework refuses beside others (Megatron-LM, megatron/training/arguments.py, validate_args).
MEGATRON_EXCLUDES = {
    "bf16": ("fp16",), "fp16": ("bf16",), "recompute_granularity": ("recompute_activations",),
    "recompute_activations": ("recompute_granularity", "recompute_method", "recompute_num_layers"),
    "num_virtual_stages_per_pipeline_rank": ("num_layers_per_virtual_pipeline_stage",),
    "num_layers_per_virtual_pipeline_stage": ("num_virtual_stages_per_pipeline_rank",),
}  # fmt: skip


def _new_name(framework: str, form: Form, key: str) -> str:
    """What a setting is called that the file does not have yet. Raises Unavailable where its place is not known."""
    known, section = form.dialect.all_keys(), SECTIONS.get(key.split("_")[0])
    if framework == "accelerate":
        second = "fsdp_config.fsdp_reshard_after_forward" in known
        if any(name.startswith(f"{section}.") for name in known) and not (second and key in OF_FSDP_1):
            return f"{section}.{key}"
    elif framework in FLAT or (framework == "megatron" and form.shell):
        if "." not in key:
            return key
    elif "." in key and form.repeats is not Repeats.UNCLEAR and not _of_newer_version(key, known):
        if framework in ("deepspeed", "torchtitan", "verl") or form.shell:
            return key
    elif key in known:
        return key
    raise Unavailable(
        f"{key} is not in this file, and where it belongs is not known", f"文件中没有 {key}，其所在位置也无从得知"
    )


def _of_newer_version(key: str, known: tuple[str, ...]) -> bool:
    """torchtitan's degrees once stood in another section."""
    return key.startswith("parallelism.") and not any(name.startswith("parallelism.") for name in known)


def _literal(form: Form, key: str, value: Scalar | None) -> Scalar | None:
    """A word as the value that it means. Raises Unavailable for several where one is taken."""
    if isinstance(value, tuple) and isinstance(form.syntax, CommandLine) and key not in form.syntax.lists:
        words = " ".join(value)
        raise Unavailable(f"{key} takes one value, not {words!r}", f"{key} 只取一个值，而非 {words!r}")
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    number = as_number(value)
    return value if number is None else number


def _shut_out(text: str, form: Form, own: Own) -> list[str]:
    """Settings in the file that the framework refuses beside the new ones."""
    rules = MEGATRON_EXCLUDES if form.dialect.title.startswith("Megatron-LM") else {}
    others = dict.fromkeys(other for key, value in own.items() if value is not None for other in rules.get(key, ()))
    if rules and own.get("recompute_granularity") == "selective":
        others |= dict.fromkeys(("recompute_method", "recompute_num_layers"))
    entries = _entries(form.syntax, text)
    return [key for key in others if key not in own and placed(entries, form.dialect.names(key), form.repeats)]


def _neutral(dialect: Dialect, own: Own) -> dict[str, Any]:
    """The neutral settings that a framework's own ones state whole, by one of its settings each."""
    found = {}
    for knob, way in dialect.ways.items():
        if len(way.keys) == 1 and (value := own.get(way.keys[0])) is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            read = None if isinstance(value, tuple) else way.read({way.keys[0]: text})
            with suppress(PlanError):  # a word for the framework itself, such as -1: no neutral value
                found.update(checked({knob: read}) if read is not None else {})
    return found


def _read(form: Form, entries: tuple[Entry, ...]) -> dict[str, Found]:
    dialect = form.dialect
    placed_at = {key: placed(entries, dialect.names(key), form.repeats) for key in dialect.all_keys()}
    texts = {key: found[-1].value for key, found in placed_at.items() if found}
    result = {}
    for knob, way in dialect.ways.items():
        value = way.read(texts)
        first = next((placed_at[key][-1] for key in way.keys if placed_at[key]), None)
        if value is not None and first is not None:
            result[knob] = Found(value, first.key, first.line)
    return result


def _said(form: Form, text: str, stated: Mapping[str, Found], knob: str, value: Any, recipe: str) -> bool:
    """Does the file say so already, in every place that counts?"""
    if knob not in stated or stated[knob].value != value:
        return False
    entries = _entries(form.syntax, text)
    for key in form.dialect.ways[knob].keys:
        found = placed(entries, form.dialect.names(key), form.repeats, recipe)
        if len({entry.value for entry in found}) > 1:
            return False
    return True


def _wanted(dialect: Dialect, knob: str, value: Any) -> Wanted:
    if knob in dialect.ways:
        return dialect.ways[knob].write(value)
    en, zh = dialect.absent.get(knob, (f"not available in {dialect.title}", f"{dialect.title} 没有对应的设置"))
    raise Unavailable(en, zh)


def _apply(form: Form, before: str, knob: str, wishes: list[tuple[str, Wish]], recipe: str) -> tuple[str, list[Note]]:
    """All of what one neutral setting asks for, or nothing: half of it would be another configuration."""
    text, notes = before, []
    for key, wish in wishes:
        text, said = _write(form, text, key, knob, wish, recipe)
        notes += said
    left = [note for note in notes if not note.written]
    return (before, left) if left else (text, notes)


def _write(form: Form, before: str, key: str, knob: str, wanted: Wish, recipe: str) -> tuple[str, list[Note]]:
    """One of the framework's settings into the text, which stays as it was where that does not succeed."""
    syntax, names, text = form.syntax, form.dialect.names(key), before
    there = placed(_entries(syntax, text), names, form.repeats, recipe)
    value: Scalar | Keep | None
    try:
        value = wanted(there[-1].value if there else None) if callable(wanted) else wanted
    except Unavailable as reason:
        return text, [Note(knob, f"{key}: {reason}", f"{key}：{reason.text.zh}", written=False)]
    if isinstance(value, Keep) or (not there and value is None):
        return text, []
    if len(there) > 1 and form.repeats is Repeats.UNCLEAR:
        return text, [_unclear(knob, key, there)]
    notes = [note for note in (_kept(form, knob, entry) for entry in there) if note]
    if notes:
        return text, notes
    try:
        if value is None:
            return _removed(form, text, names, recipe), []
        if not there:
            (kin, near), entries = _kin(form, text, key, recipe), _entries(syntax, text)
            text = syntax.add(text, _best_name(form.dialect, entries, key, near), value, kin)
            notes = _import_note(form, knob, value, text)
        for index in range(len(there)):
            # Places shift with every edit, so they are looked up again.
            found = placed(_entries(syntax, text), names, form.repeats, recipe)
            if index < len(found) and not same(found[index].value, value):
                entry = found[index]
                text = syntax.replace(text, entry, value)
                notes += [Note(knob, *entry.remark)] if entry.remark else []
                notes += _import_note(form, knob, value, text)
        if value is False and form.shell:
            text = _off(form, text, names, recipe)
        after = placed(_entries(syntax, text), names, form.repeats, recipe)
        if any(not same(entry.value, value) for entry in after) or (not after and value is not False):
            raise AdapterError("the file defines it in a way that cannot be edited", "文件以无法修改的方式定义了它")
    except AdapterError as error:
        said = (f"{key} = {shown(value)}: {error.text.en}", f"{key} = {shown(value)}：{error.text.zh}")
        return before, [Note(knob, *said, written=False)]
    return text, notes


def _removed(form: Form, text: str, names: tuple[str, ...], recipe: str) -> str:
    """The text without the setting; one that was overridden by it goes as well."""
    for _ in range(MOST_TWICE):
        there = placed(_entries(form.syntax, text), names, form.repeats, recipe)
        there = [entry for entry in there if entry.value.lower() not in NULLS]
        if not there:
            return text
        syntax = form.syntax
        text = syntax.replace(text, there[-1], form.null) if form.null else syntax.remove(text, there[-1])
    raise _too_often(names[0])


def _off(form: Form, text: str, names: tuple[str, ...], recipe: str) -> str:
    """A switch that was given twice and is on by being there is still on when one of them went."""
    for _ in range(MOST_TWICE):
        there = placed(_entries(form.syntax, text), names, form.repeats, recipe)
        left = [entry for entry in there if not same(entry.value, False)]
        if not left:
            return text
        text = form.syntax.replace(text, left[-1], False)
    raise _too_often(names[0])


def _kept(form: Form, knob: str, entry: Entry) -> Note | None:
    said = form.dialect.keep.get(entry.value.lower())
    if not said:
        return None
    return Note(
        knob,
        f"line {entry.line}: {entry.key} is {entry.value}: {said[0]}",
        f"第 {entry.line} 行 {entry.key} 为 {entry.value}：{said[1]}",
        written=False,
    )


def _import_note(form: Form, knob: str, value: Scalar, text: str) -> list[Note]:
    """A name that an expression uses must be imported in the file."""
    name = value.split(".")[0] if isinstance(value, Code) else ""
    module = form.dialect.imports.get(name)
    if not module or re.search(rf"^\s*(?:from|import)\b.*\b{name}\b|^\s+{name},?\s*$", text, re.MULTILINE):
        return []
    line = f"from {module} import {name}"
    return [Note(knob, f"add the import: {line}", f"需加入导入语句：{line}")]


def _unavailable(knob: str, value: Any, reason: Unavailable) -> Note:
    return Note(knob, f"{knob} = {shown(value)}: {reason}", f"{knob} = {shown(value)}：{reason.text.zh}", written=False)


def _best_name(dialect: Dialect, entries: tuple[Entry, ...], key: str, near: bool) -> str:
    """What a new setting is called: in its section where the file has that, bare where its relatives stand."""
    section = dialect.sections.get(key)
    for name in (f"{section}.{key}" if section else key, key):
        path = name.split(".")[:-1]
        if path and any(entry.key.split(".")[:-1][-len(path) :] == path for entry in entries):
            return name
    bare = [name for name in dialect.names(key) if "." not in name]
    return bare[0] if bare and near else key


def _kin(form: Form, text: str, key: str, recipe: str) -> tuple[tuple[Entry, ...], bool]:
    """Settings of the file that the new one may stand next to, and whether they are its relatives."""
    entries = _entries(form.syntax, text)
    *groups, rest = form.dialect.beside(key)
    for group in (*groups, rest):
        found = [e for other in group for e in placed(entries, form.dialect.names(other), form.repeats, recipe)]
        if group is rest and form.repeats is Repeats.OUTERMOST and "." not in key:
            # A setting without a section does not belong into the section of others.
            found = [entry for entry in found if "." not in entry.key]
        if found:
            return tuple(sorted(found, key=lambda entry: entry.first)), group is not rest
    # A command has its options in one place, whatever they are about.
    return (entries, False) if form.shell else ((), False)


def _unclear(knob: str, key: str, there: list[Entry]) -> Note:
    where = ", ".join(f"{entry.group or 'the module'} (line {entry.line})" for entry in there[:4])
    return Note(
        knob,
        f"{key} stands in {len(there)} recipes: {where}; say which one runs",
        f"{key} 出现在 {len(there)} 个配方中：{where}；请指明运行的是哪一个",
        written=False,
    )


def shown(value: Any) -> str:
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)


def _too_often(name: str) -> AdapterError:
    return AdapterError(f"{name} is set more than {MOST_TWICE} times", f"{name} 被设置了 {MOST_TWICE} 次以上")
