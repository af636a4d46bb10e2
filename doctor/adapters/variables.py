"""Environment variables of a job: exported in its launch script, or told where that is not the file at hand."""

from __future__ import annotations

import re
import shlex

from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Note
from doctor.adapters.syntax.shell_script import Definition, Script, inner, read_script
from doctor.adapters.text import begins_line, indent_of, line_break, line_end, line_of, line_start, splice, without_line

DIRECTIVE = re.compile(r"#!|#\s?(?:SBATCH|PBS|BSUB|\$)")
PLAIN = re.compile(r"[\w.,:/+@%=-]*")


def render_variable(text: str, name: str, value: str | None, shell: bool) -> tuple[str, Note | None]:
    """The script with the variable set to `value`, or without it where that is None."""
    knob, order = f"env.{name}", f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
    if not shell:
        said = (f"variables are set where the job is started: {order}", f"环境变量要在启动作业处设置：{order}")
        return text, Note(knob, *said, written=False)
    try:
        script = read_script(text)
        given = [definition for definition in script.definitions if definition.name == name]
        if value is None:
            return (without_definition(text, given[-1]) if given else text), None
        if given:
            return _with(text, given[-1], value), None
        return _added(text, script, order), None
    except AdapterError as error:
        return text, Note(knob, f"{order}: {error.text.en}", f"{order}：{error.text.zh}", written=False)


def _with(text: str, definition: Definition, value: str) -> str:
    start, end = inner(text, definition.start, definition.end)
    if text[start:end] == value:
        return text
    quoted = (start, end) != (definition.start, definition.end)
    if quoted and not re.search(r"[\"'$`\\]", value):
        return splice(text, start, end, value)
    return splice(text, definition.start, definition.end, value if PLAIN.fullmatch(value) else shlex.quote(value))


def without_definition(text: str, definition: Definition) -> str:
    """The script without that assignment. Raises AdapterError where it is set together with others."""
    start = definition.start - len(definition.name) - 1
    line = text[line_start(text, start) : start].strip()
    rest = text[definition.end : line_end(text, definition.end)].split("#")[0].strip()
    if line in ("", "export") and not rest:
        return without_line(text, start, definition.end)
    if rest and (not line or line == "export"):
        blanks = re.match(r"[ \t]*", text[definition.end :])
        return splice(text, start, definition.end + (blanks.end() if blanks else 0), "")
    name = definition.name
    raise AdapterError.at(
        line_of(text, start),
        f"{name} is set together with others; take it out there",
        f"{name} 与其他变量写在一起；请在那里删去",
    )


def _added(text: str, script: Script, order: str) -> str:
    """Behind the last export before the job is started, else before the command that starts it."""
    if not script.commands and not script.definitions:
        raise AdapterError("no command in this script", "此脚本中没有命令")
    newline = line_break(text)
    options = [command for command in script.commands if any(_is_option(script, word.start) for word in command.words)]
    first = min((word.start for command in options[:1] for word in command.words[:1]), default=len(text))
    exports = [d for d in script.definitions if d.exported and d.end < first and _on_its_own(text, d)]
    if exports:
        end = line_end(text, exports[-1].end)
        return splice(text, end, end, f"{newline}{indent_of(text, exports[-1].start)}{order}")
    at = _command_start(text, first) if first < len(text) else 0
    while first == len(text) and DIRECTIVE.match(text, at):
        at = line_end(text, at) + len(newline)
    return splice(text, at, at, f"{indent_of(text, at)}{order}{newline}")


def _command_start(text: str, at: int) -> int:
    """Where the first line of the command begins that `at` is in, also where variables for it stand on lines before."""
    start = line_start(text, at)
    while start and re.search(r"\\\r?\n$", text[max(0, start - 3) : start]):
        start = line_start(text, start - 1)
    return start


def _is_option(script: Script, at: int) -> bool:
    return script.text.startswith("--", at)


def _on_its_own(text: str, definition: Definition) -> bool:
    start = definition.start - len(definition.name) - 1
    before = text[line_start(text, start) : start].strip()
    rest = text[definition.end : line_end(text, definition.end)].split("#")[0].strip()
    return before == "export" and not rest and (begins_line(text, start) or before == "export")
