"""Walks one command line: which programs it starts, one inside the other, and the settings each is given."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from doctor.facts.model import Quality
from probes.files.job_config.knobs import find
from probes.files.job_config.shell_words import Word
from probes.files.job_config.values import NO, YES

# Programs that start others, by what they are called on a command line.
STARTERS = {
    "torchrun": "torchrun", "deepspeed": "deepspeed_launcher", "accelerate": "accelerate",
    "accelerate-launch": "accelerate", "srun": "srun", "sbatch": "sbatch", "salloc": "sbatch", "mpirun": "mpirun",
    "mpiexec": "mpirun", "orterun": "mpirun", "horovodrun": "horovodrun",
    "docker": "docker", "podman": "docker", "nerdctl": "docker", "ray": "ray",
    "colossalai": "colossalai", "composer": "composer", "python": "python", "python3": "python",
    "llamafactory-cli": "llamafactory", "swift": "swift", "megatron": "swift", "axolotl": "axolotl", "nemo": "nemo",
    "trl": "trl", "tune": "torchtune", "openrlhf": "openrlhf", "lightning": "lightning", "fabric": "lightning",
}  # fmt: skip
MODULES = {
    "torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed_launcher", "deepspeed.launcher.launch": "deepspeed_launcher",
}  # fmt: skip
LAUNCHERS = {
    "torchrun": "torchrun", "deepspeed_launcher": "deepspeed", "accelerate": "accelerate", "srun": "srun",
    "mpirun": "mpirun", "horovodrun": "mpirun", "ray": "ray",
}  # fmt: skip
# What the name of a program, module or script says about the framework.
FRAMEWORKS = (
    ("verl", "verl"), ("openrlhf", "openrlhf"), ("slime", "slime"), ("torchtitan", "torchtitan"),
    ("axolotl", "axolotl"), ("llamafactory", "llamafactory"), ("llama_factory", "llamafactory"), ("swift", "swift"),
    ("nemo", "nemo"), ("torchtune", "torchtune"), ("megatron", "megatron"), ("trl", "trl"), ("lightning", "lightning"),
    ("colossalai", "colossalai"), ("pretrain_(?:gpt|bert|t5|llama|vlm|mamba|retro|mixtral|qwen)", "megatron"),
)  # fmt: skip
WITH_SUBCOMMANDS = frozenset(
    ("accelerate", "swift", "llamafactory", "docker", "ray", "colossalai", "axolotl", "nemo", "trl", "torchtune")
)
SINGLE_NODE_DEFAULT = frozenset({"torchrun"})
OVERRIDE = re.compile(r"[+~]{0,2}[A-Za-z_][\w./@\[\]-]*=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as written: the program it is given to, its name, its value."""

    program: str
    name: str
    value: str
    line: int
    assumed: bool = False

    @property
    def quality(self) -> Quality:
        """A default that the caller's environment may replace is no more than likely."""
        return Quality.DERIVED if self.assumed else Quality.STATED

    @property
    def key(self) -> str:
        return f"{self.program}.{self.name}" if self.program else self.name


def program_of(word: str) -> str:
    """What kind of program a word of a command starts, or ""."""
    name = word.rsplit("/", 1)[-1]
    if name in STARTERS:
        return STARTERS[name]
    return "python" if re.fullmatch(r"python[\d.]*", name) else ""


def framework_of(name: str) -> str:
    """The framework that a module, script or program belongs to, by its name, or ""."""
    low = name.lower().replace("-", "_")
    for part, framework in FRAMEWORKS:
        if re.search(rf"(?:^|[/._]){part}(?:[/._]|$|train|cli)", low):
            return framework
    return ""


def settings(words: Sequence[Word]) -> Iterator[Setting]:
    """The settings of a command, program by program. A program is a setting too: name "program", its kind as value."""
    program = _first_program(words)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        started = program_of(word.text)
        if started and not word.text.startswith("-"):
            program = started
            yield Setting(started, "program", word.text, word.line)
            at += _skip_subcommand(started, words, at)
        elif word.text == "-m" and program not in ("sbatch", "docker") and at < len(words):
            module = words[at]
            at += 1
            program = MODULES.get(module.text, framework_of(module.text))
            yield Setting(program, "program", module.text, module.line)
        elif re.search(r"\.(py|sh)$", word.text) and not word.text.startswith("-") and program != "docker":
            program = framework_of(word.text)
            yield Setting(program, "program", word.text, word.line)
        elif word.text.startswith("--") and len(word.text) > 2:
            setting, used = _long_flag(program, word, words[at] if at < len(words) else None)
            at += used
            yield setting
        elif re.fullmatch(r"-[A-Za-z]\w*", word.text) and at < len(words):
            name = word.text[1:]
            following = words[at]
            if len(name) > 1 and name[0] in "NncGg" and name[1:].isdigit():
                yield Setting(program, SHORT.get(name[0], name[0]), name[1:], word.line)
                continue
            if not following.text.startswith("-"):
                at += 1
            yield Setting(program, SHORT.get(name, name), following.text, following.line, following.assumed)
        elif program in ("mpirun", "srun") and ("/" in word.text or word.text in ("bash", "sh", "zsh")):
            # Some other program: what follows are its own arguments.
            program = ""
        elif OVERRIDE.fullmatch(word.text) and program not in ("docker", "torchrun"):
            name, _, value = word.text.partition("=")
            yield Setting(program, name, value.strip("\"'"), word.line, word.assumed)


SHORT = {"N": "n_nodes", "np": "np", "n": "n", "c": "c", "x": "x", "e": "e"}


def world_info(encoded: str) -> list[int]:
    """Processes on each node, from DeepSpeed's `--world_info` (base64 of a JSON object of host to GPU indices)."""
    try:
        decoded = base64.urlsafe_b64decode(encoded[:100_000] + "=" * (-len(encoded) % 4)).decode("utf-8")
    except (ValueError, binascii.Error):
        return []
    return [len(re.findall(r"\d+", indices)) for indices in re.findall(r":\s*\[([\d,\s]*)\]", decoded)]


def include_list(value: str) -> list[int]:
    """Processes on each node, from DeepSpeed's `--include host1:0,1@host2:0,1`; a host without slots counts 0."""
    return [len([slot for slot in part.partition(":")[2].split(",") if slot]) for part in value.split("@") if part]


def _long_flag(program: str, word: Word, following: Word | None) -> tuple[Setting, int]:
    """The setting of a `--flag`, and how many further words are its value."""
    name, equals, value = word.text[2:].partition("=")
    if equals:
        return Setting(program, name, value.strip("\"'"), word.line, word.assumed), 0
    knob = find(f"{program}.{name}")
    switch = knob is None or _fits(knob.convert, "true")
    alone = Setting(program, name, "true" if switch else "", word.line)
    if following is None or re.match(r"--?[A-Za-z]", following.text) or following.text == "--":
        return alone, 0
    if program_of(following.text) or following.text.endswith(".py"):
        return alone, 0
    # A switch before a positional word; anything else that does not fit is reported with its value.
    if (
        knob is not None
        and switch
        and not _fits(knob.convert, following.text)
        and following.text.lower() not in YES | NO
    ):
        return alone, 0
    return Setting(program, name, following.text, following.line, following.assumed), 1


def _fits(convert: object, text: str) -> bool:
    try:
        return callable(convert) and convert(text) is not None
    except (ValueError, OverflowError):
        return False


def _first_program(words: Sequence[Word]) -> str:
    """Arguments pasted without their command belong to no program yet."""
    return program_of(words[0].text) if words else ""


def _skip_subcommand(program: str, words: Sequence[Word], at: int) -> int:
    """`accelerate launch`, `swift sft`, `docker run`: the sub-command is no argument."""
    return int(program in WITH_SUBCOMMANDS and at < len(words) and re.fullmatch(r"[a-z_]+", words[at].text) is not None)
