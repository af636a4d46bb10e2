"""Environment variables in the script that starts a job, where what the script sets reaches the ranks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache

from doctor.adapters.errors import AdapterError, Unavailable
from doctor.adapters.flag_text import to_fill_in
from doctor.adapters.model import Note, Rendered
from doctor.adapters.syntax.shell_scan import Word, statements
from doctor.adapters.syntax.shell_script import Command, Definition, Script, inner, read_script
from doctor.adapters.text import indent_of, line_break, line_end, line_of, line_start, splice
from doctor.adapters.variables import without_definition

OTHER_KINDS = (".yaml", ".yml", ".json", ".toml", ".py", ".md", ".rst", ".log", ".out", ".err", ".cfg", ".ini", ".env")
OTHER_SHELL = re.compile(r"#!.*\b(?:csh|tcsh|fish|python[\d.]*|perl|pwsh)\b")
LAUNCHERS = re.compile(
    r"(?:torchrun|deepspeed|accelerate|srun|mpirun|mpiexec|orterun|llamafactory-cli|swift|megatron|axolotl|composer|"
    r"colossalai|fabric|lightning|python[\d.]*|torch\.distributed\.(?:run|launch)|[\w./-]+\.py)"
)
# Programs that start the job somewhere else, where exports of the script are not seen.
ELSEWHERE = re.compile(r"docker|podman|nerdctl|ssh|pdsh|pssh|clush|kubectl|mpirun|mpiexec|orterun|env -i")
HANDED_ON = re.compile(r"(?:-x|-genvlist|--env|-e)[ =]([A-Za-z_]\w*)(?![=\w])")
EXPORT_OPTION = re.compile(r"--export[= ](\"[^\"\n]*\"|'[^'\n]*'|\S+)")
# A variable that holds several settings, of which one is added or changed (PyTorch, "Optimizing memory usage").
SEVERAL = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
PLAIN = re.compile(r"[\w.,:/+@%=^-]*")
EXPANDS = re.compile(r"(?:[\w.,:/+@%=^-]|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})*")
# A line that goes on with a block, and the label of a case.
WITHIN = re.compile(r"(?:fi|done|else|elif|then|do|esac|;;|[})]|&&|\|\|)(?:[\s;]|$)|[^\s($`\"'#]*\)(?:\s|$)")
UNSET = "unset"


@lru_cache(maxsize=8)
def _script(text: str) -> Script:
    """A script as it was read, which is looked at many times and not changed."""
    return read_script(text)


@lru_cache(maxsize=8)
def _statements(text: str) -> list[list[Word]]:
    return statements(text, 0, len(text))


def is_launch_script(path: str, text: str) -> bool:
    """Is the file a shell script that starts a job?"""
    if path.lower().endswith(OTHER_KINDS) or text.lstrip().startswith(("{", "<")) or OTHER_SHELL.match(text):
        return False
    try:
        return any(True for _ in _launches(_script(text)))
    except AdapterError:
        return False


def set_variables(path: str, text: str, variables: Mapping[str, str | None]) -> Rendered:
    """The script with the variables set, and those of None unset: all of them, or none and why not.

    One that the script sets already is changed where it stands; a new one is exported before the job is started.
    """
    after, notes = text, []
    for name, value in variables.items():
        try:
            if value is not None and (reason := to_fill_in(value)):
                raise Unavailable(*reason)
            after = _set(path, after, name, value)
        except AdapterError as error:
            notes.append(Note(name, error.text.en, error.text.zh, written=False))
    return Rendered(text if notes else after, tuple(notes))


def sets(text: str, name: str) -> bool:
    """Does the script set or unset that variable?"""
    try:
        script = _script(text)
        return bool(_given(script, name) or _unsets(text, name))
    except AdapterError:
        return False


def quoted(value: str) -> str:
    """The value as a word of the shell; a variable in it is still put in."""
    if PLAIN.fullmatch(value):
        return value
    return f'"{value}"' if "$" in value and EXPANDS.fullmatch(value) else shlex.quote(value)


def _set(path: str, text: str, name: str, value: str | None) -> str:
    script = _script(text)
    launches = list(_launches(script))
    if not launches:
        raise AdapterError(f"{path} holds no command that starts the job", f"{path} 中没有启动作业的命令")
    _reaches(script, launches, name)
    given = _given(script, name)
    if not given and name in SEVERAL:  # newer versions of PyTorch have another name for the same
        name = next((other for other in SEVERAL if _given(script, other)), name)
        given = _given(script, name)
    if value is None:
        return _unset(text, name, given)
    for number in range(len(given)):  # places shift with every change
        text = _changed(text, _given(_script(text), name)[number], value)
    text = _not_unset(text, name)
    if not given:
        text = _inserted(text, script, launches, f"export {name}={quoted(value)}")
    elif not any(definition.exported for definition in given) and not _exported(text, name):
        first = _given(_script(text), name)[0]
        start = first.start - len(name) - 1
        text = splice(text, start, start, "export ")
    return text


def _launches(script: Script) -> Iterator[Command]:
    """The commands that start the job: they name a launcher or a program in Python, and have more to say than that."""
    for command in script.commands:
        words = [script.raw(word).strip("\"'") for word in command.words[:12]]
        if len(words) > 1 and any(LAUNCHERS.fullmatch(word.rsplit("/", 1)[-1]) for word in words):
            yield command


def _given(script: Script, name: str) -> list[Definition]:
    return [definition for definition in script.definitions if definition.name == name]


def _reaches(script: Script, launches: list[Command], name: str) -> None:
    """Raises Unavailable where what the script exports is not what the ranks get."""
    text = script.text
    for option in EXPORT_OPTION.finditer(text):
        parts = option[1].strip("\"'").split(",")
        line = line_of(text, option.start())
        if any(part.partition("=")[0] == name and "=" in part for part in parts):
            raise Unavailable(
                f"line {line} hands it on with --export: change it there", f"第 {line} 行用 --export 传递：请在那里修改"
            )
        if "ALL" not in parts and name not in parts:
            raise Unavailable(
                f"--export on line {line} hands on only what it names: add it there",
                f"第 {line} 行的 --export 只传递所列变量：请在那里加入",
            )
    for command in launches:
        words = [script.raw(word).strip("\"'") for word in command.words]
        program = next((w for w in (word.rsplit("/", 1)[-1] for word in words[:4]) if ELSEWHERE.fullmatch(w)), "")
        whole = " ".join(words)
        if program and name not in HANDED_ON.findall(whole):
            line = line_of(text, min(word.start for word in command.words))
            raise Unavailable(
                f"{program} on line {line} does not hand on what the script exports: set it there",
                f"第 {line} 行的 {program} 不传递脚本导出的变量：请在那里设置",
            )


def _changed(text: str, definition: Definition, value: str) -> str:
    start, end = inner(text, definition.start, definition.end)
    old = text[start:end]
    if definition.name in SEVERAL:
        value = _merged(old, value)
    if old == value or text[definition.start : definition.end] == quoted(value):
        return text
    own = re.search(rf"\$\{{?{definition.name}\b", old)
    if own and not re.fullmatch(rf"\$\{{{definition.name}:?-[^{{}}]*\}}", old):
        line = line_of(text, start)
        raise Unavailable(f"line {line} adds to its value: change it there", f"第 {line} 行在原值上追加：请在那里修改")
    around = (start, end) != (definition.start, definition.end)
    if around and not re.search(r"[\"'$`\\]", value):
        return splice(text, start, end, value)
    return splice(text, definition.start, definition.end, quoted(value))


def _merged(old: str, new: str) -> str:
    """Settings `name:value` of both, those of `new` first to count."""
    kept = {part.partition(":")[0]: part for part in old.split(",") if ":" in part and not re.search(r"[$`]", part)}
    return ",".join((kept | {part.partition(":")[0]: part for part in new.split(",")}).values())


def _unset(text: str, name: str, given: list[Definition]) -> str:
    """Without the variable, whoever else sets it: it is unset before the job is started."""
    if re.search(rf"-x[ =]{name}\b", text):
        raise Unavailable("mpirun hands it on with -x: take that out too", "mpirun 用 -x 传递它：也请删去")
    for _ in given:
        text = without_definition(text, _given(_script(text), name)[-1])
    if _unsets(text, name):
        return text
    script = _script(text)
    return _inserted(text, script, list(_launches(script)), f"{UNSET} {name}")


def _unsets(text: str, name: str) -> list[tuple[int, int]]:
    """The words of `unset` commands that name the variable."""
    found = []
    for words in _statements(text):
        raw = [text[word.start : word.end] for word in words]
        if raw[0] == UNSET:
            found += [(word.start, word.end) for word, said in zip(words, raw, strict=True) if said == name]
    return found


def _not_unset(text: str, name: str) -> str:
    for start, _ in _unsets(text, name)[:1]:
        line = line_of(text, start)
        raise Unavailable(f"line {line} unsets it: take that out first", f"第 {line} 行会取消它：请先删去")
    return text


def _exported(text: str, name: str) -> bool:
    for words in _statements(text):
        raw = [text[word.start : word.end] for word in words]
        if raw[0] in ("export", "declare") and (name in raw or "-a" in raw):
            return True
        if raw[0] == "set" and "-a" in raw:
            return True
    return False


def _inserted(text: str, script: Script, launches: list[Command], order: str) -> str:
    """The order on a line of its own: behind the last export that always runs, else before the job is started."""
    first = min(word.start for word in launches[0].words)
    newline = line_break(text)
    exports = [d for d in script.definitions if d.exported and d.end < first and _stands_alone(text, d)]
    if exports:
        at = line_end(text, exports[-1].end)
        after = splice(text, at, at, f"{newline}{order}")
    else:
        at = _before(text, _line_of_command(text, first))
        after = splice(text, at, at, f"{order}{newline}")
    if sorted(_words(after)) != sorted([*_words(text), *order.split(" ", 1)]):
        raise AdapterError.at(line_of(text, at), "no place for a line of its own was found", "找不到可单独加一行的位置")
    return after


def _words(text: str) -> list[str]:
    return [text[word.start : word.end] for words in _statements(text) for word in words]


def _stands_alone(text: str, definition: Definition) -> bool:
    """Is it `export NAME=value` on a line of its own, outside of every block?"""
    start = definition.start - len(definition.name) - 1
    begin = line_start(text, start)
    rest = text[definition.end : line_end(text, definition.end)].split("#")[0].strip()
    return text[begin:start] == "export " and not rest


def _line_of_command(text: str, at: int) -> int:
    """Where the first line of the command at `at` begins."""
    begin = line_start(text, at)
    while begin and re.search(r"\\\r?\n$", text[max(0, begin - 3) : begin]):
        begin = line_start(text, begin - 1)
    return begin


def _before(text: str, begin: int) -> int:
    """The line, or the one above it that opens the block it is in: there it runs whatever the block decides."""
    while begin and (indent_of(text, begin) or WITHIN.match(text, begin) or not text[begin : line_end(text, begin)]):
        begin = line_start(text, begin - 1)
    return begin
