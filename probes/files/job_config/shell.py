"""Launch scripts, command lines, files of pasted arguments, and dumps of environment variables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from doctor.facts.model import Quality
from probes.files.job_config import tree
from probes.files.job_config.launchers import (
    LAUNCHERS,
    SINGLE_NODE_DEFAULT,
    Setting,
    framework_of,
    include_list,
    settings,
    world_info,
)
from probes.files.job_config.lenient import entries
from probes.files.job_config.sheet import Sheet
from probes.files.job_config.shell_words import ASSIGNMENT, Command, Script, Word

# Frameworks by a setting that only they have.
TELLING = {
    "tensor_model_parallel_size": "megatron", "num_layers_per_virtual_pipeline_stage": "megatron",
    "use_distributed_optimizer": "megatron", "actor_num_gpus_per_node": "slime",
    "per_device_train_batch_size": "hf", "parallelism.tensor_parallel_degree": "torchtitan",
    "job.config_file": "torchtitan", "deepspeed_config": "deepspeed",
}  # fmt: skip
# Slurm exports these to the job from what the batch script asks for.
SLURM = {
    "config.nnodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "config.tasks_per_node": ("SLURM_NTASKS_PER_NODE",),
    "config.gpus_per_node": ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"), "config.tasks": ("SLURM_NTASKS",),
}  # fmt: skip
DEEPEST_COMMAND = 3


def read_script(sheet: Sheet, text: str, first_line: int = 1) -> None:
    """Read every command of the script `text`."""
    _Reader(sheet).script(text, first_line)


def read_command(sheet: Sheet, text: str, line: int) -> None:
    """Read one command line, as echoed by a shell or a launcher in a log."""
    _Reader(sheet).script(text, line)


class _Reader:
    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.slurm = False
        self.runs_under_slurm = False
        self.programs: set[str] = set()
        self.inline: list[tuple[tuple[str, Word], ...]] = []
        self.loose: list[tuple[str, Word]] = []
        self.others = 0

    def script(self, text: str, first_line: int) -> None:
        script = Script(text, first_line)
        for command in script.commands():
            self.command(command, script, 0)
        self.finish()

    def command(self, command: Command, script: Script, depth: int) -> None:
        if command.heredoc is not None:
            tree.read_nested(self.sheet, command.heredoc.text, command.heredoc.line)
        elif command.directive:
            self.directive(command, script)
        elif command.exported:
            for name, word in command.variables:
                self.sheet.variable(name, word.text, word.line, _quality(word))
        elif command.words:
            self.run(command, script, depth)
        else:
            self.loose.extend(command.variables)

    def directive(self, command: Command, script: Script) -> None:
        """A line of a batch script that tells the scheduler what to allocate."""
        self.slurm = True
        for setting in settings((Word("sbatch", 0), *command.words)):
            self.sheet.setting(setting.key, setting.value, setting.line, setting.quality)
        for fact in self.sheet.reading().facts:
            for name in SLURM.get(fact.name, ()):
                script.variables.setdefault(name, (Word(str(fact.value), fact.source.line),))

    def run(self, command: Command, script: Script, depth: int) -> None:
        words = command.words
        inner = _inner_command(words)
        if inner is not None and depth < DEEPEST_COMMAND:
            nested = Script(inner.text, inner.line, dict(script.variables))
            for part in nested.commands():
                self.command(part, nested, depth + 1)
            words = words[:-1]
        found = list(settings(words))
        started = _programs(found)
        known = sum(self.setting(setting) for setting in found if setting.name != "program")
        for setting in started:
            self.start(setting, found)
        if known or started:
            self.inline.append(command.variables)
        else:
            self.others += 1
        if {"srun", "mpirun"} & {s.program for s in started}:
            self.runs_under_slurm = True
        self.programs |= {s.program for s in started}

    def start(self, setting: Setting, found: Sequence[Setting]) -> None:
        """Note a program that the command starts."""
        sheet, program, line = self.sheet, setting.program, setting.line
        # `megatron sft` is a command of ms-swift.
        own = "swift" if program == "swift" else ""
        if framework := own or framework_of(setting.value) or framework_of(program):
            sheet.state("config.framework", framework, line)
        if program in LAUNCHERS:
            sheet.state("config.launcher", LAUNCHERS[program], line)
            if program == "deepspeed_launcher":
                sheet.state("config.framework", "deepspeed", line)
        given = {s.name.replace("-", "_") for s in found if s.program == program}
        single = program in SINGLE_NODE_DEFAULT and not given & {"nnodes", "nnode"}
        alone = program == "deepspeed_launcher" and "num_gpus" in given and not given & {"num_nodes", "hostfile", "H"}
        if single or alone:
            sheet.state("config.nnodes", 1, line, Quality.DERIVED)

    def setting(self, setting: Setting) -> bool:
        """Hand a setting to the knob table; launchers' own lists are read here."""
        sheet, name, line = self.sheet, setting.name.replace("-", "_"), setting.line
        if setting.program in ("mpirun", "docker") and name in ("x", "e", "env"):
            variable, _, value = setting.value.partition("=")
            if value:
                sheet.variable(variable, value, line)
            return True
        if name in ("runtime_env_json", "env_vars"):
            return _ray_environment(sheet, setting.value, line)
        counts = []
        if setting.program == "deepspeed_launcher" and name in ("include", "i"):
            counts = include_list(setting.value)
        elif setting.program == "deepspeed_launcher" and name == "world_info":
            counts = world_info(setting.value)
        elif setting.program == "mpirun" and name in ("H", "host", "hosts"):
            counts = [0] * len(setting.value.split(","))
        elif setting.program == "mpirun" and (per_node := re.search(r"ppr:(\d+):node", setting.value)):
            sheet.state("config.nproc_per_node", int(per_node[1]), line)
        if counts:
            sheet.state("config.nnodes", len(counts), line)
            if counts[0] and len(set(counts)) == 1:
                sheet.state("config.nproc_per_node", counts[0], line)
            return True
        normal = setting.name.replace("-", "_")
        if framework := TELLING.get(normal):
            sheet.state("config.framework", framework, line)
        return sheet.setting(setting.key, setting.value, line, setting.quality)

    def finish(self) -> None:
        """What only the whole file shows."""
        self.shared_variables()
        sheet = self.sheet
        if not self.inline and self.loose and self.others <= len(self.loose):
            for name, word in self.loose:
                if name == name.upper():
                    sheet.variable(name, word.text, word.line, _quality(word))
        by_variable = sheet.has("env.NPROC_PER_NODE") and self.programs & {"swift", "llamafactory"}
        if by_variable and not sheet.has("config.nnodes"):
            sheet.state("config.nnodes", 1, 0, Quality.DERIVED)
        if self.slurm:
            sheet.state("config.srun", self.runs_under_slurm, 0)
            if self.runs_under_slurm and not self.programs & {"torchrun", "deepspeed_launcher", "accelerate", "ray"}:
                for fact in sheet.reading().facts:
                    if fact.name == "config.tasks_per_node":
                        sheet.state("config.nproc_per_node", fact.value, fact.source.line)
                    elif fact.name == "config.tasks":
                        sheet.state("config.world_size", fact.value, fact.source.line)

    def shared_variables(self) -> None:
        """Variables set for single commands. With several commands (nodes, or runs that are compared) only a variable
        that all of them set is one of the job."""
        in_commands = Counter(name for variables in self.inline for name in {name for name, _ in variables})
        for variables in self.inline:
            for name, word in variables:
                if in_commands[name] == len(self.inline):
                    self.sheet.variable(name, word.text, word.line, _quality(word))


def _quality(word: Word) -> Quality:
    return Quality.DERIVED if word.assumed else Quality.STATED


def _programs(found: Sequence[Setting]) -> list[Setting]:
    """The programs a command starts. A name alone, as in "deepspeed 0.14", is prose and starts nothing."""
    started = [setting for setting in found if setting.name == "program"]
    whole = len(found) > len(started) or any(re.search(r"[a-z]\.[a-z]|-cli$", s.value) for s in started)
    return started if whole else []


def _inner_command(words: Sequence[Word]) -> Word | None:
    """The script in `bash -c "..."`, `srun bash -lc '...'`, `ssh host "..."`."""
    if len(words) < 3 or " " not in words[-1].text:
        return None
    shells = any(word.text.rsplit("/", 1)[-1] in ("bash", "sh", "zsh", "ssh", "pdsh") for word in words[:-1])
    return words[-1] if shells and not ASSIGNMENT.fullmatch(words[-1].text) else None


def _ray_environment(sheet: Sheet, value: str, line: int) -> bool:
    for entry in entries(value):
        section, _, name = entry.key.rpartition(".")
        if section.endswith("env_vars"):
            sheet.variable(name, entry.value, line)
    return True
