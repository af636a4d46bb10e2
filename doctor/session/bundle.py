"""Bundles: what `pdoctor collect` writes and `analyze` replays. This is the format, and how it is read.

A bundle is an archive of `manifest.json`, `facts.jsonl` and texts below `files/`. The texts are read again like the
files that they were; of what is no text (traces, snapshots, dumps of recorders, probes) it holds the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from doctor.facts.model import Fact, FactSpec, fact_spec
from doctor.rulebase.load import load_rulebase
from doctor.session.answers import TYPES
from doctor.session.contents import File
from doctor.session.notes import Note
from doctor.session.report import Input

SCHEMA = 1
MANIFEST, FACTS, FILES = "manifest.json", "facts.jsonl", "files/"
MANIFEST_MAGIC, FACTS_MAGIC = b'{"pdoctor_bundle":', b'{"pdoctor_facts":'
LARGEST_MANIFEST, LONGEST_NAME, LONGEST_LINE, MOST_LINES = 16 << 20, 1_000, 1 << 20, 500_000


class Carried(msgspec.Struct, frozen=True):
    """A text in the bundle: its name where it was written, the member that holds it, the host it is known to be of."""

    name: str
    member: str
    kind: str = ""
    bytes: int = 0
    host: str = ""
    cut: bool = False


class Manifest(msgspec.Struct, frozen=True):
    """What the bundle holds, what was hidden in it by kind, and what was left out and why."""

    pdoctor_bundle: int
    tool: str
    written: str
    files: tuple[Carried, ...] = ()
    facts: int = 0
    hidden: Mapping[str, int] = {}
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class Replayed:
    """Facts that were kept, and the inputs that they come from."""

    facts: list[Fact] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)


def encode_facts(facts: Iterable[Fact], inputs: Iterable[Input]) -> Iterable[bytes]:
    """The lines of `facts.jsonl`."""
    yield msgspec.json.encode({"pdoctor_facts": SCHEMA}) + b"\n"
    for given in inputs:
        says = tuple(note.values.get("text") or note.values.get("reason", "") for note in given.notes)
        told = _GivenInput(given.path, given.kind, given.bytes, given.rank, given.host, says)
        yield msgspec.json.encode({"input": told}) + b"\n"
    for fact in facts:
        yield msgspec.json.encode({"fact": fact}) + b"\n"


def unbundled(files: Sequence[File], notes: list[Note]) -> list[File]:
    """`files` with the texts of bundles under the names that they had where the bundle was written.

    What is wrong with a bundle is one remark; its texts are read all the same.
    """
    manifests = [file for file in files if file.name.endswith(MANIFEST) and _begins(file, MANIFEST_MAGIC)]
    if not manifests:
        return list(files)
    names = {file.name for file in files}
    told: dict[str, File] = {}
    for file in manifests:
        start = file.name.removesuffix(MANIFEST)
        alone = len(manifests) == 1 and all(name.startswith(start) for name in names)
        texts = manifest.files if (manifest := _manifest(file, notes)) else ()
        for text in texts:
            if 0 < len(text.name) <= LONGEST_NAME:
                name = text.name if alone else f"{start.rstrip('/:')}:{text.name}"
                told[start + text.member] = File("", name, 0, text.host)
        if missing := sum(start + text.member not in names for text in texts):
            notes.append(Note("bundle.incomplete", file.name, {"n": str(missing), "all": str(len(texts))}))
    passed = {file.name for file in manifests}
    taken: set[str] = set()
    found = []
    for file in files:
        if file.name in passed:
            continue
        known = told.get(file.name)
        if known is not None and known.name not in taken:
            file = replace(file, name=known.name, host=known.host)
        taken.add(file.name)
        found.append(file)
    return found


def replayed(files: Sequence[File]) -> tuple[list[File], Replayed]:
    """The files that hold no facts, and the facts of those that do."""
    kept = [file for file in files if _begins(file, FACTS_MAGIC)]
    found = Replayed()
    for file in kept:
        notes: list[Note] = []
        _read_facts(file, _catalogue(), found, notes)
        found.inputs += [Input(file.name, "", file.bytes, notes=tuple(notes))] if notes else []
    return [file for file in files if file not in kept], found


def _begins(file: File, magic: bytes) -> bool:
    try:
        with Path(file.path).open("rb") as stored:
            return stored.read(len(magic)) == magic
    except OSError:
        return False


def _manifest(file: File, notes: list[Note]) -> Manifest | None:
    reason = f"larger than {LARGEST_MANIFEST:,} bytes"
    if file.bytes <= LARGEST_MANIFEST:
        try:
            manifest = msgspec.json.decode(Path(file.path).read_bytes(), type=Manifest)
        except (msgspec.DecodeError, OSError, RecursionError, UnicodeDecodeError) as error:
            reason = str(error)
        else:
            if manifest.pdoctor_bundle == SCHEMA:
                return manifest
            values = {"schema": str(manifest.pdoctor_bundle), "known": str(SCHEMA)}
            notes.append(Note("bundle.schema", file.name, values))
            return None
    notes.append(Note("bundle.damaged", file.name, {"reason": reason}))
    return None


class _GivenInput(msgspec.Struct, frozen=True):
    path: str
    kind: str
    bytes: int = 0
    rank: int | None = None
    host: str | None = None
    says: tuple[str, ...] = ()


class _Line(msgspec.Struct, frozen=True):
    input: _GivenInput | None = None
    fact: Fact | None = None


KINDS = frozenset(
    {"probe", "flight_recorder", "trace", "memory_snapshot", "expert_loads", "what_if", "nsys", "recording", "stacks"}
)


def _read_facts(file: File, catalogue: Mapping[str, FactSpec], found: Replayed, notes: list[Note]) -> None:
    decoder = msgspec.json.Decoder(_Line)
    wrong: list[str] = []
    with Path(file.path).open("rb") as stored:
        try:
            schema: Any = msgspec.json.decode(stored.readline(100)).get("pdoctor_facts")
        except (msgspec.DecodeError, AttributeError):
            schema = None
        if schema != SCHEMA:
            values = {"schema": str(schema)[:20], "known": str(SCHEMA)}
            notes.append(Note("bundle.schema", file.name, values))
            return
        lines = iter(lambda: stored.readline(LONGEST_LINE), b"")
        for number, line in enumerate(islice(lines, MOST_LINES), 2):
            try:
                read = decoder.decode(line)
                reason = _place(read, catalogue, found)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
                reason = str(error)
            if reason:
                wrong.append(f"line {number}: {reason}")
                del wrong[1_000:]
    if wrong:
        notes.append(Note("bundle.facts", file.name, {"n": str(len(wrong)), "reason": wrong[0]}))


def _place(line: _Line, catalogue: Mapping[str, FactSpec], found: Replayed) -> str:
    """Keeps what the line says; gives what is wrong with it."""
    if line.input is not None:
        given = line.input
        if given.kind not in KINDS:
            return f"{given.kind[:40]!r} is no kind of input"
        notes = tuple(Note("input.probe_says", given.path, {"place": "", "text": text}) for text in given.says)
        found.inputs.append(Input(given.path, given.kind, max(given.bytes, 0), given.rank, given.host, notes))
        return ""
    fact = line.fact
    if fact is None:
        return "neither a fact nor an input"
    spec = fact_spec(catalogue, fact.name)
    if spec is None and fact.quality != "failed":
        return f"no fact is called {fact.name[:60]!r}"
    if spec is not None and fact.quality != "failed" and not _fits(fact, spec):
        return f"{fact.name} should be {spec.type}"
    found.facts.append(fact)
    return ""


def _fits(fact: Fact, spec: FactSpec) -> bool:
    kind = TYPES[spec.type]
    value = list(fact.value) if isinstance(fact.value, tuple) else fact.value
    return isinstance(value, kind) and (spec.type == "bool") == (type(value) is bool)


@cache
def _catalogue() -> Mapping[str, FactSpec]:
    return load_rulebase().base.catalogue
