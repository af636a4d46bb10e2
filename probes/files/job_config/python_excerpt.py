"""Python training scripts and excerpts of them: literal arguments, assignments and the calls that tell the setup.

The text is parsed, never run. What does not parse, because lines are missing, is read piece by piece.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Fact, Value
from probes.files.job_config.sheet import Sheet
from probes.files.job_config.values import arithmetic

# What a call alone says, by the last part of its name.
CALLS: dict[str, tuple[tuple[str, Value], ...]] = {
    "FSDP": (("config.fsdp", True), ("config.fsdp_version", 1), ("config.framework", "fsdp")),
    "FullyShardedDataParallel": (("config.fsdp", True), ("config.fsdp_version", 1), ("config.framework", "fsdp")),
    "fully_shard": (("config.fsdp", True), ("config.fsdp_version", 2), ("config.framework", "fsdp")),
    "FullyShardedDataParallelPlugin": (("config.fsdp", True),),
    "HfDeepSpeedConfig": (("config.framework", "deepspeed"),),
    "DeepSpeedPlugin": (("config.framework", "deepspeed"),),
    "LoraConfig": (("config.lora", True),),
    "get_peft_model": (("config.lora", True),),
    "gradient_checkpointing_enable": (("config.recompute", "full"),),
    "apply_activation_checkpointing": (("config.recompute", "full"),),
    "CPUOffload": (("config.offload_param", True),),
    "CPUOffloadPolicy": (("config.offload_param", True), ("config.offload_optimizer", True)),
    "MegatronStrategy": (("config.framework", "nemo"),),
    "TrainingArguments": (("config.framework", "hf"),),
    "Seq2SeqTrainingArguments": (("config.framework", "hf"),),
    "SFTConfig": (("config.framework", "trl"),),
    "GRPOConfig": (("config.framework", "trl"),),
}
DOTTED_CALLS: dict[str, tuple[tuple[str, Value], ...]] = {
    "torch.compile": (("config.compile", True),),
    "deepspeed.initialize": (("config.framework", "deepspeed"),),
    "torch.profiler.profile": (("config.profiler", True),),
    "profiler.profile": (("config.profiler", True),),
}
SAME_AS = {"idist.initialize": "init_process_group"}
"""Calls that hand their arguments on to one that is known: Ignite's."""
DEGREES = tuple(f"config.{name}" for name in ("world_size", "nnodes", "nproc_per_node", "tp", "pp", "cp", "ep", "dp"))
LARGEST_PARSED = 512 * 1024
DURATION = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1, "milliseconds": 0.001}
CODE = re.compile(
    r"^\s*(?:import \w|from [\w.]+ import |def \w+\(|class \w+[(:]|@\w|with \w.*:\s*$|for \w.* in .*:\s*(?:#.*)?$"
    r"|if .+:\s*(?:#.*)?$|while .+:\s*$|[\w.\[\]\"']+(?:, *[\w.]+)* = \S|[\w.]+\(.*\)\s*(?:#.*)?$|return\b"
    r"|[\w]+=[\w.\"'{\[(].*,\s*$)"
)
LITERAL = (
    r"(-?\d[\w.+-]*|True|False|None|\"[^\"\n]*\"|'[^'\n]*'|torch\.\w+|ShardingStrategy\.\w+"
    r"|(?:datetime\.)?timedelta\([^)]*\))"
)
KEYWORD = re.compile(
    rf"([A-Za-z_][\w.]*|\[[\"'][\w.]+[\"']\]|[\"'][\w.]+[\"'])\s*[=:]\s*{LITERAL}(?=\s*(?:[,)}}#]|$))", re.MULTILINE
)
CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\(")


def matches(text: str) -> bool:
    """Do most lines look like code?"""
    lines = [line for line in text.splitlines()[:400] if line.strip(" \t.") and not line.lstrip().startswith("#")]
    fitting = sum(CODE.match(line) is not None for line in lines)
    return bool(lines) and fitting >= 0.5 * len(lines) and "(" in text


def read(sheet: Sheet, text: str) -> None:
    """Read the script or excerpt."""
    tree = parsed(text) if len(text) <= LARGEST_PARSED else None
    if tree is None:
        _read_pieces(sheet, text)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _call(sheet, node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if key := _dotted(target):
                    _value(sheet, key, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None and (key := _dotted(node.target)):
            _value(sheet, key, node.value)


def certain(facts: list[Fact], text: str) -> list[Fact]:
    """`facts` without settings that branches or functions of the program `text` set to different values.

    Which of them is run is not known: one script serves bf16 and fp16, and a collection of recipes many sizes. Degrees
    of parallelism that several functions set are those of several jobs.
    """
    values: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.name != "config.framework":
            values[fact.name].append(fact)
    several = max(map(len, values.values()), default=1) > 1 or len(values.keys() & set(DEGREES)) > 1
    if not several or (tree := parsed(text)) is None:
        return facts
    branches = _branches(tree)
    places = {name: {branches.get(fact.source.line, 0) for fact in stated} for name, stated in values.items()}
    doubtful = {name for name, found in places.items() if len(found) > 1}
    if len(set().union(*(places.get(name, set()) for name in DEGREES)) - {0}) > 1:
        doubtful |= set(DEGREES)
    return [fact for fact in facts if fact.name not in doubtful]


def _branches(tree: ast.Module) -> dict[int, int]:
    """For each line inside a function or a branch of an `if` a number that tells it from other such places."""
    places: dict[int, int] = {}
    for number, body in enumerate(_bodies(tree), 1):
        for line in range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1):
            places[line] = number
    return places


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Statements that are run together or not at all, outer ones first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If):
            yield node.body
        if isinstance(node, ast.If) and node.orelse:
            yield node.orelse


def parsed(text: str) -> ast.Module | None:
    """The tree of `text`, None where it is not Python as a whole."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _call(sheet: Sheet, node: ast.Call) -> None:
    name = _dotted(node.func)
    last = SAME_AS.get(name, name.rsplit(".", 1)[-1])
    _known_call(sheet, name, node.lineno)
    for keyword in node.keywords:
        if keyword.arg:
            _value(sheet, f"{last}.{keyword.arg}", keyword.value)
    if last in ("from_pretrained", "init_process_group", "DataParallel") and node.args:
        first = {"from_pretrained": "model_name_or_path", "init_process_group": "init_process_group.backend"}.get(last)
        if first and (found := _literal(node.args[0])) is not None:
            sheet.setting(first, found, node.lineno)
    if last in ("setdefault",) and len(node.args) == 2:
        _environ(sheet, name, node.args[0], node.args[1], node.lineno)


def _known_call(sheet: Sheet, name: str, line: int) -> None:
    facts = CALLS.get(name.rsplit(".", 1)[-1], ())
    for dotted, more in DOTTED_CALLS.items():
        if name == dotted or name.endswith("." + dotted):
            facts = more
    for fact, value in facts:
        sheet.state(fact, value, line)


def _value(sheet: Sheet, key: str, node: ast.expr) -> None:
    """Read `key = node`, a dict key by key."""
    if isinstance(node, ast.Dict):
        for name, value in zip(node.keys, node.values, strict=True):
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                _value(sheet, f"{key}.{name.value}", value)
        return
    if key.endswith("environ"):
        return
    text = _literal(node)
    if text is None:
        return
    if found := re.fullmatch(r"(?:os\.)?environ\.([A-Z][A-Z0-9_]*)", key):
        sheet.variable(found[1], text, node.lineno)
    else:
        sheet.setting(key, text, node.lineno)


def _environ(sheet: Sheet, name: str, key: ast.expr, value: ast.expr, line: int) -> None:
    variable, text = _literal(key), _literal(value)
    if "environ" in name and variable and text is not None:
        sheet.variable(variable, text, line)


def _dotted(node: ast.expr) -> str:
    """`a.b["c"]` as "a.b.c"; "" where a part is not a plain name."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            parts.append(str(node.slice.value))
            node = node.value
        elif isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(parts)])
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return ".".join(reversed(parts))


def _literal(node: ast.expr) -> str | None:
    """The text of a literal, of arithmetic of numbers, of a constant such as torch.bfloat16, or of a timedelta."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str | int | float | bool) else None
    if isinstance(node, ast.Attribute):
        name = _dotted(node)
        return node.attr if re.match(r"(?:torch|ShardingStrategy|StateDictType|BackwardPrefetch)\.", name) else None
    if isinstance(node, ast.Call) and _dotted(node.func).rsplit(".", 1)[-1] == "timedelta":
        return _duration(ast.unparse(node))
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        value = arithmetic(ast.unparse(node))
        return None if value is None else str(value)
    return None


def _duration(text: str) -> str | None:
    """Seconds of `timedelta(minutes=30)`; None where a part is not a number."""
    parts = re.findall(r"(\w+)\s*=\s*([^,)]+)", text)
    amounts = [(DURATION.get(unit), arithmetic(amount)) for unit, amount in parts]
    if not parts or any(scale is None or amount is None for scale, amount in amounts):
        return None
    return str(sum(scale * amount for scale, amount in amounts if scale and amount is not None))


def _read_pieces(sheet: Sheet, text: str) -> None:
    """Read `key=literal` and calls line by line, each under the last call that was opened."""
    for number, line in _code_lines(text):
        call = ""
        for found in re.finditer(rf"(?:{CALL.pattern})|(?:{KEYWORD.pattern})", line):
            if found[1]:
                call = found[1].rsplit(".", 1)[-1]
                _known_call(sheet, found[1], number)
                continue
            key, value = found[2].strip("[]\"'"), found[3]
            prefix = _owner(line[: found.start()])
            if "timedelta" in value:
                value = _duration(value) or "auto"
            value = re.sub(r"^(?:torch|ShardingStrategy)\.", "", value).strip("\"'")
            if prefix.endswith("environ"):
                sheet.variable(key, value, number)
            elif not sheet.setting(f"{prefix or call}.{key}".strip("."), value, number):
                sheet.setting(key, value, number)


def _owner(before: str) -> str:
    """The name whose item or attribute is set, such as `ds` in `ds["train_batch_size"] = 8`."""
    found = re.search(r"([A-Za-z_][\w.]*)$", before)
    return found[1] if found else ""


def _code_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n")[:20_000], 1):
        yield number, re.sub(r"(?:^|\s)#.*", "", line[:4096])
