"""What a program prints about its own configuration at the beginning of its log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from math import prod

from doctor.facts.model import Fact
from probes.files.job_config import deepspeed
from probes.files.job_config.sheet import Sheet
from probes.files.job_config.shell import read_command
from probes.files.job_config.tree import read_nested
from probes.files.strings import Strings

MOST_LINES = 200_000
LONGEST_LINE = 16_384
LONGEST_BLOCK = 600
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

# One of these is in every line that a reader below is for; a search for literals is far cheaper than the readers.
LITERALS = Strings((
    " ...", "using world size:", "world_size", "Num processes", "batch size per device", "train batch size (",
    "local batch size", "Accumulation steps", "trainable", "set by environment to", "device mesh with", "padded vocab",
    "num_local_procs", "onfig", "kwargs: {", "Arguments(", "Namespace(", "json = {", "INFO DICT", "pipeline schedule",
    "total parameters", "activation checkpointing", "_nodes ", "nproc_per_node", "rdzv_", "torchrun ", "deepspeed ",
    "accelerate launch ", "python", "srun ", "mpirun ", "swift ", "llamafactory-cli ", "axolotl ",
))  # fmt: skip
DOTS = re.compile(r"(?:^|\s)([A-Za-z_][\w.]*) \.{3,} ?(.*)$")
MEGATRON_SIZES = re.compile(r"using world size: (\d+)(.*)")
PARALLEL_SIZE = re.compile(r"([a-z]+(?:-[a-z]+)*)[ -]size: (\d+)")
SWITCHES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Instantaneous batch size per device = ([\d,]+)"), "per_device_train_batch_size"),
    (re.compile(r"Total train batch size \(.*?\) = ([\d,]+)"), "global_batch_size"),
    (re.compile(r"Gradient Accumulation steps = ([\d,]+)"), "gradient_accumulation_steps"),
    (re.compile(r"Number of trainable parameters = ([\d,]+)"), "trainable_params"),
    (re.compile(r"trainable params: ([\d,]+)"), "trainable_params"),
    (re.compile(r"\|\| all params: ([\d,]+)"), "all_params"),
    (re.compile(r"Num processes: (\d+)"), "world_size"),
    (re.compile(r"\blocal_world_size[=:]\s?(\d+)"), "local_world_size"),
    (re.compile(r"(?<!local_)(?<!group_)\bworld_size[=:]\s?(\d+)"), "world_size"),
    (re.compile(r"nnodes=(\d+), num_local_procs"), "nnodes"),
    (re.compile(r"num_local_procs=(\d+)"), "num_local_procs"),
    (re.compile(r"padded vocab \(size: \d+\) with \d+ dummy tokens \(new size: (\d+)\)"), "padded_vocab_size"),
    (re.compile(r"\blocal batch size (\d+)"), "local_batch_size"),
    (re.compile(r"\bglobal batch size (\d+)\b(?! *\|)"), "global_batch_size"),
    (re.compile(r"\bsequence length (\d+)"), "seq_len"),
    (re.compile(r"size: ([\d,]+) total parameters"), "total_parameters"),
    (re.compile(r"Using pipeline schedule (\w+)"), "pipeline_parallel_schedule"),
    (re.compile(r"Applied (full|selective|none) activation checkpointing"), "activation_checkpoint.mode"),
    (re.compile(r"^\s*(?:min_nodes)\s+: (\d+)"), "min_nodes"),
    (re.compile(r"^\s*(?:max_nodes)\s+: (\d+)"), "max_nodes"),
    (re.compile(r"^\s*(?:nproc_per_node)\s+: (\d+)"), "nproc_per_node"),
    (re.compile(r"^\s*(?:rdzv_backend)\s+: (\w+)"), "rdzv_backend"),
    (re.compile(r"^\s*(?:rdzv_endpoint)\s+: (\S+)"), "rdzv_endpoint"),
)
SET_BY_ENVIRONMENT = re.compile(r"\b([A-Z][A-Z0-9_]+) set by environment to (.*?)\.?\s*$")
VARIABLE = re.compile(r"^\s*(?:export |declare -x )?([A-Z][A-Z0-9]*_\w+)=[\"']?([^\"'\s]*)[\"']?\s*$")
MESH = re.compile(r"device mesh with \[([^\]]*)\], \[([\d, ]*)\]")
PAIRS_LINE = re.compile(r"\b[Cc]onfig\b|\b\w*Arguments?\(|Namespace\(")
PAIR = re.compile(r"\b([A-Za-z_][\w.]*)=('[^']*'|\"[^\"]*\"|[^\s,()'\"]+)")
BLOCK = re.compile(r"(?<!\w)(\w{0,64}(?:[Cc]onfig|kwargs|json|DICT|Arguments)\w{0,64})\b[^{]{0,80}(\{.*)$")
ARGUMENTS = re.compile(r"\b\w*(?:Arguments|Config)\($")
COMMAND = re.compile(r"^(?:\++ |\$ |\S+@\S+[:~ ]\S*[$#] |.*?\bcmd = |.*?[Rr]unning command:? )?(?=\S)(.*)$")
COMMAND_WORD = re.compile(
    r"(?:[A-Z]\w*=\S* )*(?:\S*/)?"
    r"(?:torchrun|deepspeed|accelerate launch|python\S*|srun|mpirun|swift|llamafactory-cli|axolotl) "
    r".*(?:--|\.py|-m |-x [A-Z]|-np \d)"
)


def read(path: str, lines: Iterable[tuple[int, str]], entity: str) -> list[Fact]:
    """The facts that the program's own output states about its configuration."""
    kept = [(number, _clean(line)) for number, line in islice(lines, MOST_LINES)]
    sheet = Sheet(path, dict(kept), entity)
    held = LITERALS.within("\n".join(line for _, line in kept))
    for at, (number, line) in enumerate(kept):
        if not (any(map(line.__contains__, held)) or VARIABLE.match(line)):
            continue
        for reader in READERS:
            reader(sheet, line, number)
        if opened := BLOCK.search(line):
            _read_block(sheet, opened[1], [opened[2], *(text for _, text in kept[at + 1 : at + LONGEST_BLOCK])], number)
        elif ARGUMENTS.search(line):
            for inner_number, inner in kept[at + 1 : at + LONGEST_BLOCK]:
                if inner.startswith(")"):
                    break
                _read_pairs(sheet, inner, inner_number)
    return sheet.reading().facts


def _clean(line: str) -> str:
    line = line[:LONGEST_LINE].rstrip()
    return ESCAPE.sub("", line) if "\x1b" in line else line


def _read_block(sheet: Sheet, name: str, lines: list[str], first_line: int) -> None:
    """A dict or JSON object that begins in the first of `lines`."""
    depth = 0
    for count, line in enumerate(lines, 1):
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            text = "\n".join(lines[:count])
            if deepspeed.matches(text):
                deepspeed.read(sheet, text, first_line, whole=False)
            else:
                read_nested(sheet, text, first_line, section=name)
            return


def _read_dots(sheet: Sheet, line: str, number: int) -> None:
    """`name ........ value`, as Megatron-LM and DeepSpeed print their arguments."""
    if not (found := DOTS.search(line)):
        return
    section = "deepspeed" if "config.py" in line else "megatron"
    if "=" in found[2] and section == "deepspeed":
        for name, value in PAIR.findall(found[2]):
            sheet.setting(f"{section}.{found[1]}.{name}", value, number)
    elif _told(sheet, f"{section}.{found[1]}", found[2], number) and _is_own(section, found[1]):
        sheet.state("config.framework", section, number)


def _is_own(section: str, name: str) -> bool:
    """Other programs print dotted lines as well; model-parallel sizes are Megatron's."""
    return section == "deepspeed" or name.endswith("model_parallel_size")


def _told(sheet: Sheet, key: str, value: str, number: int) -> bool:
    """A setting as the program sees it. The number of ranks may differ from the one its launcher was given."""
    name = key.rsplit(".", 1)[-1]
    return sheet.setting(f"echo.{name}" if name.endswith("world_size") else key, value, number)


def _read_sizes(sheet: Sheet, line: str, number: int) -> None:
    """Megatron-LM's line on its process groups, in the spellings of old and new versions."""
    if found := MEGATRON_SIZES.search(line):
        _told(sheet, "world_size", found[1], number)
        sheet.state("config.framework", "megatron", number)
        for name, size in PARALLEL_SIZE.findall(found[2]):
            sheet.setting(f"{name.removesuffix('-')}_size", size, number)


def _read_switches(sheet: Sheet, line: str, number: int) -> None:
    for pattern, key in SWITCHES:
        if found := pattern.search(line):
            _told(sheet, key, found[1], number)


def _read_variables(sheet: Sheet, line: str, number: int) -> None:
    """Environment variables, as NCCL reports them or as printed by the launcher."""
    if found := SET_BY_ENVIRONMENT.search(line) or VARIABLE.match(line):
        sheet.variable(found[1], found[2], number)


def _read_mesh(sheet: Sheet, line: str, number: int) -> None:
    """torchtitan's device mesh: names of the dimensions and their sizes."""
    if found := MESH.search(line):
        names = re.findall(r"\w+", found[1])
        sizes = [int(size) for size in re.findall(r"\d+", found[2])]
        if len(names) == len(sizes):
            _told(sheet, "world_size", str(prod(sizes)), number)
            sheet.state("config.framework", "torchtitan", number)
            for name, size in zip(names, sizes, strict=True):
                sheet.setting(f"{name}_size", str(size), number)


def _read_pairs(sheet: Sheet, line: str, number: int) -> None:
    """`key=value` pairs of one line of printed arguments."""
    for name, value in PAIR.findall(line):
        _told(sheet, name, value.strip("'\""), number)


def _read_config_line(sheet: Sheet, line: str, number: int) -> None:
    if PAIRS_LINE.search(line):
        _read_pairs(sheet, line, number)


def _read_command(sheet: Sheet, line: str, number: int) -> None:
    """A command that a shell (`set -x`), a launcher or the user's prompt shows."""
    found = COMMAND.match(line)
    if found and COMMAND_WORD.match(found[1]):
        read_command(sheet, found[1], number)


READERS: tuple[Callable[[Sheet, str, int], None], ...] = (
    _read_dots,
    _read_sizes,
    _read_switches,
    _read_variables,
    _read_mesh,
    _read_config_line,
    _read_command,
)
