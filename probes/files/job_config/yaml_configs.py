"""YAML: arguments of transformers, LLaMA-Factory, axolotl, ms-swift, TRL; nested files of verl, NeMo, Lightning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from probes.files.job_config.knobs import find
from probes.files.job_config.lenient import entries
from probes.files.job_config.sheet import Sheet

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

KEY_LINE = re.compile(r"\s*(?:- )?[\"']?([A-Za-z_][\w.-]*)[\"']?\s*:(?:\s|$)(.*)")
# The pure-Python reader takes about a second for 200 KiB; real configurations hold a few.
LARGEST = 512 * 1024
# Sections that set variables for the job.
ENVIRONMENT = frozenset({"env", "envs", "env_vars", "environment", "env_variables", "environment_variables"})
MOST_NODES = 20_000
DEEPEST = 60
# Frameworks by a key that only their files have.
TELLING = (
    ("llamafactory", re.compile(r"^(?:finetuning_type|cutoff_len)\s*:", re.MULTILINE)),
    ("axolotl", re.compile(r"^(?:base_model|sequence_len|val_set_size|sample_packing)\s*:", re.MULTILINE)),
    ("verl", re.compile(r"^\s*actor_rollout_ref\s*:", re.MULTILINE)),
    ("swift", re.compile(r"^(?:tuner_type|train_type)\s*:", re.MULTILINE)),
    ("nemo", re.compile(r"^\s*(?:_target_\s*:\s*[\"']?nemo|(?:megatron_cfg|dtensor_cfg|step_scheduler)\s*:)", re.M)),
    ("lightning", re.compile(r"_target_\s*:\s*[\"']?(?:pytorch_)?lightning", re.MULTILINE)),
    ("megatron", re.compile(r"^\s*[\"']?--(?:tensor-model-parallel-size|micro-batch-size|num-layers)\b", re.MULTILINE)),
    ("hf", re.compile(r"^per_device_train_batch_size\s*:", re.MULTILINE)),
)  # fmt: skip


def matches(text: str) -> bool:
    """Do most lines read `key: value`, and is one of the keys known?"""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "---"))][:400]
    found = [match for line in lines if (match := KEY_LINE.match(line))]
    listed = sum(line.lstrip().startswith(("- ", "]", "}")) for line in lines)
    return bool(found) and len(found) + listed >= 0.6 * len(lines) and known_keys(text)


def known_keys(text: str) -> bool:
    """Does the text set a key that the knob table knows, at any depth or inside a flow mapping?"""
    return any(find(key) for key in re.findall(r"[\"']?\b([A-Za-z_][\w-]*)[\"']?\s*:\s", text[:65536]))


def read(sheet: Sheet, text: str) -> int:
    """Read the file; how many keys were known."""
    for framework, pattern in TELLING:
        if found := pattern.search(text):
            sheet.state("config.framework", framework, 1 + text.count("\n", 0, found.end()))
            break
    known = 0
    for key, value, line in scalars(sheet, text):
        section, _, name = key.rpartition(".")
        if section.rsplit(".", 1)[-1].lower() in ENVIRONMENT and name == name.upper():
            sheet.variable(name, value, line)
            known += 1
        else:
            known += sheet.setting(key, value, line)
    return known


def scalars(sheet: Sheet, text: str) -> Iterator[tuple[str, str, int]]:
    """Dotted key, text and line of every scalar. Nothing is constructed: tags and merge keys stay what they are."""
    if len(text) > LARGEST:
        sheet.warn(0, f"YAML of more than {LARGEST // 1024} KiB is not read")
        return
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        for document in YAML(typ="safe", pure=True).compose_all(text):
            if document is not None:
                yield from _walk(document)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        if sheet.path.lower().endswith((".yaml", ".yml")):
            sheet.warn(mark.line + 1 if mark else 0, f"not valid YAML: {getattr(error, 'problem', None) or error}")
        yield from _by_line(text)


def _walk(root: Node) -> Iterator[tuple[str, str, int]]:
    """Scalars below `root`, in order; an alias is read once, so that aliases of aliases cannot grow."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

    seen: set[int] = set()
    stack: list[tuple[str, Node, int]] = [("", root, 0)]
    while stack and len(seen) < MOST_NODES:
        key, node, depth = stack.pop()
        if id(node) in seen or depth > DEEPEST:
            continue
        seen.add(id(node))
        if isinstance(node, ScalarNode):
            yield key, str(node.value), node.start_mark.line + 1
        elif isinstance(node, MappingNode):
            below = [
                (f"{key}.{name.value}" if key else str(name.value), value, depth + 1)
                for name, value in node.value
                if isinstance(name, ScalarNode)
            ]
            stack.extend(reversed(below))
        elif isinstance(node, SequenceNode):
            stack.extend((key, item, depth + 1) for item in reversed(node.value))


def _by_line(text: str) -> Iterator[tuple[str, str, int]]:
    """`key: value` lines of a file that does not parse, or was cut off; sections are kept by their indentation."""
    path: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n")[:20_000], 1):
        found = KEY_LINE.match(line[:4096])
        if not found or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        while path and path[-1][0] >= indent:
            path.pop()
        value = re.sub(r"\s+#.*", "", found[2]).strip().strip("\"'")
        key = ".".join([name for _, name in path] + [found[1]])
        if value.startswith("{"):
            yield from ((f"{key}.{entry.key}", entry.value, number) for entry in entries(value))
        elif value and len(path) < DEEPEST:
            yield key, value, number
        else:
            path.append((indent, found[1]))
