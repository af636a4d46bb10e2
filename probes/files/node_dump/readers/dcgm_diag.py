"""`dcgmi diag`: which tests failed, on which GPUs, and why; as a table or as JSON (`-j`).

DCGM 4 gives each entity a line of its own below the test (`GPU0: Fail`), DCGM 3 and before name the GPUs behind the
result, a line for each (`Pass - GPUs: 1, 2`, `Fail - GPU: 0`). JSON: test_categories, tests, results (DCGM,
dcgmi/Diag.cpp, NvvsJsonStrings.h).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "dcgmi diag"
MARKS = ("Diagnostic                | Result", "| Diagnostic", '"DCGM Diagnostic"', '"DCGM GPU Diagnostic"')

_HEADER = re.compile(r"^\|\s*Diagnostic\s*\|\s*Result\s*\|")
_CELLS = re.compile(r"^\|(?P<name>[^|]{0,80})\|(?P<info>[^|]{0,400})\|\s*$")
_RESULT = re.compile(r"^(?P<status>Pass|Fail|Warn|Skip|Not Run)(?:\s*-\s*(?P<which>All|GPUs?:?[\d,\s]+))?$")
_ENTITY = re.compile(r"^(?P<group>[A-Za-z][A-Za-z_]{0,15}?)(?P<number>\d{1,4}): (?P<status>Pass|Fail|Warn|Skip)$")
_WARNING = re.compile(r"^(?:Warning|Error)(?:: GPU(?P<gpu>\d{1,4}))?$")
_IN_TEXT = re.compile(r"\bGPU (?P<gpu>\d{1,4})\b")
MOST, LONGEST = 64, 400
WIDTH = 45
"""Characters of a long text on one line of the table (dcgmi/Diag.cpp, DisplayVerboseInfo)."""


@dataclass(slots=True)
class _Found:
    """Failed tests by GPU (None: of no GPU), warnings in the same way, and how many tests passed."""

    failed: defaultdict[int | None, dict[str, Line]] = field(default_factory=lambda: defaultdict(dict))
    warned: defaultdict[int | None, list[tuple[str, Line]]] = field(default_factory=lambda: defaultdict(list))
    passed: dict[str, Line] = field(default_factory=dict)


def recognise(block: Block) -> list[Block]:
    table = any(_HEADER.match(line.text) for line in block.lines)
    return [block] if table or _document(block) is not None else []


def read(section: Block) -> Iterator[Fact]:
    document = _document(section)
    found = _json(document, section) if document is not None else _table(section)
    if found.passed:
        yield section.fact("node.dcgm_passed", tuple(found.passed), next(iter(found.passed.values())))
    for gpu, tests in found.failed.items():
        entity, name = (section.node, "node.dcgm_failed") if gpu is None else (section.gpu(gpu), "gpu.dcgm_failed")
        yield section.fact(name, tuple(tests), next(iter(tests.values())), entity)
    for gpu, warnings in found.warned.items():
        entity, name = (section.node, "node.dcgm_warnings") if gpu is None else (section.gpu(gpu), "gpu.dcgm_warnings")
        yield section.fact(name, tuple(text for text, _ in warnings[:MOST]), warnings[0][1], entity)


@dataclass(slots=True)
class _Test:
    """One test of a table while its lines are read: its results, the GPUs that failed, and the warning begun."""

    name: str
    start: Line
    failed: bool = False
    passed: bool = False
    gpus: set[int] = field(default_factory=set)
    about: int | None = None
    warning: list[str] = field(default_factory=list)

    def result(self, status: str, numbers: Iterable[str]) -> None:
        self.failed |= status == "Fail"
        self.passed |= status == "Pass"
        if status == "Fail":
            self.gpus.update(map(int, numbers))

    def close(self, found: _Found) -> None:
        """Ends the warning that was begun; it may be what names the GPU of a failure."""
        text = " ".join("".join(self.warning).split())[:LONGEST]
        self.warning = []
        if text:
            owner = self.about if self.about is not None else _gpu_in(text)
            found.warned[owner].append((text, self.start))
            if self.failed and owner is not None:
                self.gpus.add(owner)

    def finish(self, found: _Found) -> None:
        self.close(found)
        owners: list[int | None] = [*sorted(self.gpus)]
        for gpu in (owners or [None]) if self.failed else ():
            found.failed[gpu].setdefault(self.name, self.start)
        if self.passed and not self.failed:
            found.passed.setdefault(self.name, self.start)


def _table(section: Block) -> _Found:
    found = _Found()
    test = _Test("", section.lines[0])
    for line in section.lines:
        match = _CELLS.match(line.text)
        if match is None:
            continue
        name, info = match["name"].strip(), match["info"].strip()
        result = _RESULT.match(info)
        if said := _WARNING.match(name):
            test.close(found)
            if name == "Error":  # what keeps the tests from running, such as a GPU that is broken already
                test.finish(found)
                test = _Test("before the tests", line, failed=True)
            test.about, test.warning = (int(said["gpu"]) if said["gpu"] else None), [_part(match["info"])]
        elif result and (name or test.name):
            if name:
                test.finish(found)
                test = _Test(name, line)
            test.result(result["status"], re.findall(r"\d{1,4}", result["which"] or ""))
        elif not name and (entity := _ENTITY.match(info)):
            test.close(found)
            test.result(entity["status"], [entity["number"]] if entity["group"] == "GPU" else [])
        elif not name and test.warning:
            test.warning.append(_part(match["info"]))
        elif name:
            test.close(found)
    test.finish(found)
    return found


def _part(cell: str) -> str:
    """A line of a long text, which is cut anywhere at WIDTH; a cell of another width was laid out by somebody else."""
    return cell[1 : WIDTH + 1] if len(cell) == WIDTH + 3 else cell


def _gpu_in(text: str) -> int | None:
    match = _IN_TEXT.search(text)
    return int(match["gpu"]) if match else None


def _document(block: Block) -> Mapping[str, object] | None:
    text = "\n".join(line.text for line in block.lines)
    start, end = text.find("{"), text.rfind("}")
    if "test_categories" not in text or not 0 <= start < end:
        return None
    try:
        whole = json.loads(text[start : end + 1])
    except ValueError:
        return None
    names = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
    inner = next((whole[name] for name in names if name in whole), None) if isinstance(whole, dict) else None
    return inner if isinstance(inner, dict) else None


def _json(document: Mapping[str, object], section: Block) -> _Found:
    found = _Found()
    for category in _maps(document.get("test_categories")):
        for test in _maps(category.get("tests")):
            name = str(test.get("name", "?"))[:80]
            line = next((one for one in section.lines if f'"{name}"' in one.text), section.lines[0])
            results = _maps(test.get("results"))
            summary = test.get("test_summary")
            every = [*results, *([summary] if isinstance(summary, dict) else [])]
            states = {str(one.get("status", "")).lower() for one in every}
            failed = [one for one in results if str(one.get("status", "")).lower() == "fail"]
            for result in results:
                gpus: list[int | None] = [*_gpus(result)]
                for warning in _maps(result.get("warnings")):
                    text = str(warning.get("warning", warning.get("warnings", "")))[:LONGEST]  # level 1 of DCGM 3
                    found.warned[gpus[0] if gpus else None].append((text, line))
                if result in failed:
                    for gpu in gpus or [None]:
                        found.failed[gpu].setdefault(name, line)
            if "fail" in states and not failed:
                found.failed[None].setdefault(name, line)
            elif "fail" not in states and "pass" in states:
                found.passed.setdefault(name, line)
    return found


def _gpus(result: Mapping[str, object]) -> list[int]:
    """The GPUs of a result: an entity of that kind, or the list that DCGM 3 gives."""
    if result.get("entity_group") == "GPU" and isinstance(number := result.get("entity_id"), int):
        return [number]
    words = str(result.get("gpu_ids", result.get("gpu_id", "")))
    return [int(word) for word in re.findall(r"(?<![-\d])\d{1,4}", words)[:MOST]]


def _maps(value: object) -> list[Mapping[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
