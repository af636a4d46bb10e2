"""Writes bundles: collects as an analysis does, redacts, and lays down what `doctor.session.bundle` reads."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

import doctor
from doctor.facts.model import Fact
from doctor.rulebase.model import RuleBase
from doctor.session.analyze import shown_files
from doctor.session.archives import expanded
from doctor.session.blocks import LONGEST_SAMPLE, Blocks
from doctor.session.bundle import FACTS, FILES, KINDS, MANIFEST, Carried, Manifest, encode_facts
from doctor.session.bundle_archive import SUFFIXES, BundleArchive
from doctor.session.contents import File
from doctor.session.gather import Gathered, gather
from doctor.session.inputs import InputError, collect
from doctor.session.node import Outcome
from doctor.session.notes import Note
from doctor.session.redact import Redactor
from doctor.session.report import Input
from doctor.session.spool import Spool
from doctor.session.written import is_replaceable
from probes.files.stream import chunks

TEXTS = frozenset({"log", "config", "dump", "table"})
HEAD, TAIL = 64 << 20, 192 << 20
"""Of a text that is longer than both, its beginning and its end are taken: failures stand at the end."""
LONGEST_LINE, BLOCK = 8 << 20, 1 << 20
_WORD = re.compile(r"[A-Za-z]{2,}")

Told: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Bundled:
    """What was written; `names` are the names that people and machines have in the bundle, by their own; `samples` has
    of each kind that was hidden one line as it stands in the bundle. `bytes` is 0 where nothing was to be written."""

    path: str
    bytes: int
    manifest: Manifest
    inputs: int
    names: dict[str, str]
    samples: dict[str, str]
    left_out: tuple[Note, ...]
    notes: tuple[Note, ...]


def write_bundle(
    target: str,
    paths: Sequence[str],
    base: RuleBase,
    outcomes: Sequence[Outcome] = (),
    *,
    keep_hosts: bool = False,
    force: bool = False,
    dry: bool = False,
    told: Told | None = None,
) -> Bundled:
    """Collects the files at and below `paths` and what the probes found into `target`, without secrets.

    `dry` does all of it but leaves no file. `told` hears how many bytes of how many are through; both count each text
    twice, and a packed one by its stored size only in the second.
    Raises InputError when a path does not exist, nothing was found, or `target` is there already or cannot be written.
    """
    if not target.endswith(SUFFIXES):
        raise InputError(Note("bundle.suffix", target, {"kinds": ", ".join(SUFFIXES)}))
    if os.path.lexists(target) and not force:
        raise InputError(Note("bundle.exists", target, {"option": "--force"}))
    with Spool() as spool:
        files, notes = _files(target, paths, outcomes, spool)
        gathered = gather(files, base.events)
        known = [fact for outcome in outcomes for fact in outcome.facts]
        probes = [Input(f"probe {outcome.spec.name}", "probe", 0) for outcome in outcomes]
        if not probes and not any(given.kind for given in gathered.inputs):
            notes += [note for given in gathered.inputs for note in given.notes]
            raise InputError(notes[0] if notes else Note("input.empty_folder", paths[0] if paths else ""))
        words = {word for spec in base.events.values() for text in spec.patterns for word in _WORD.findall(text)}
        redactor = Redactor(_hosts(files, gathered, known), keep_hosts, words)
        return _Writer(files, gathered, known, probes, redactor, notes, told).write(target, dry)


def _files(
    target: str, paths: Sequence[str], outcomes: Sequence[Outcome], spool: Spool
) -> tuple[list[File], list[Note]]:
    found = collect(paths)
    notes = list(found.notes)
    texts = []
    for text in (text for outcome in outcomes for text in outcome.texts):
        path, size, _ = spool.save([text.text.encode("utf-8", "replace")], spool.room)
        texts.append(File(str(path), text.name, size, text.host))
    given = [(path, size) for path, size in found.files if not _same(path, target)]
    taken = {os.path.realpath(path) for path, _ in given}
    places = []
    for place in dict.fromkeys(place.path for outcome in outcomes for place in outcome.places):
        with suppress(InputError):
            places += [File(p, p, n) for p, n in collect([place]).files if os.path.realpath(p) not in taken]
    return expanded([*texts, *shown_files(given, paths), *places], spool, notes), notes


def _same(path: str, target: str) -> bool:
    return os.path.exists(target) and os.path.samefile(path, target)


def _hosts(files: Iterable[File], gathered: Gathered, facts: Iterable[Fact]) -> Iterator[str]:
    yield from (given.host for given in gathered.inputs if given.host)
    yield from (event.host for event in gathered.events if event.host)
    yield from (file.host for file in files if file.host)
    for fact in (*gathered.facts, *facts):
        kind, _, name = fact.entity.partition(":")
        if kind in ("node", "gpu", "nic"):
            yield name.partition("/")[0]
        if fact.name == "rank.host":
            yield str(fact.value)


@dataclass(slots=True)
class _Writer:
    files: Sequence[File]
    gathered: Gathered
    known: Sequence[Fact]
    probes: Sequence[Input]
    redactor: Redactor
    notes: list[Note]
    told: Told | None = None
    blocks: Blocks = field(init=False)
    done: int = 0
    total: int = 0

    def __post_init__(self) -> None:
        self.blocks = Blocks(self.redactor)

    def write(self, target: str, dry: bool) -> Bundled:
        kinds = {given.path: given.kind for given in self.gathered.inputs}
        texts = [file for file in self.files if kinds.get(file.name) in TEXTS]
        others = [given for given in self.gathered.inputs if given.kind in KINDS]
        left = [given for given in self.gathered.inputs if given.kind not in TEXTS | KINDS]
        of_others = {given.path for given in others}
        kept = [fact for fact in self.gathered.facts if fact.source.path in of_others] + list(self.known)
        place = Path(target).resolve().parent
        self.total = 2 * sum(file.bytes for file in texts)
        try:
            with tempfile.TemporaryDirectory(prefix=".pdoctor-", dir=place) as folder:
                staged = [self._stage(file, Path(folder) / f"{number}") for number, file in enumerate(texts)]
                self.redactor.learn(kept)
                out = Path(folder) / "bundle"
                manifest = self._lay(out, target, texts, kinds, staged, kept, [*others, *self.probes], left)
                os.chmod(out, 0o600)
                size = 0 if dry else out.stat().st_size
                if not dry and is_replaceable(Path(target)):
                    os.replace(out, target)
                elif not dry:
                    shutil.copyfile(out, target)
        except OSError as error:
            raise InputError(Note("bundle.unwritable", target, {"reason": error.strerror or str(error)})) from None
        inputs = len(others) + len(self.probes)
        names = dict(self.redactor.names)
        samples = {kind: self.redactor.text(text.strip()) for kind, text in sorted(self.blocks.samples.items())}
        left_out = tuple(note for given in left for note in given.notes[:1])
        return Bundled(target, size, manifest, inputs, names, samples, left_out, tuple(self.notes))

    def _through(self, size: int) -> None:
        self.done += size
        if self.told is not None:
            self.told(self.done, max(self.done, self.total))

    def _stage(self, file: File, path: Path) -> bool:
        """Lays the text down without the secrets that show by themselves; tells whether its middle was left out."""
        self.redactor.begin()
        cut = [False]
        with path.open("wb") as out:
            try:
                for block in _blocks(_ends(Path(file.path), cut)):
                    out.write(self.blocks.stage(block))
                    self._through(len(block))
            except OSError as error:
                self.notes.append(Note("input.unreadable", file.name, {"reason": error.strerror or str(error)}))
        return cut[0]

    def _lay(
        self,
        out: Path,
        target: str,
        texts: Sequence[File],
        kinds: dict[str, str],
        staged: Sequence[bool],
        facts: Sequence[Fact],
        inputs: Sequence[Input],
        left: Sequence[Input],
    ) -> Manifest:
        hide = self.redactor.text
        carried = []
        for number, (file, cut) in enumerate(zip(texts, staged, strict=True)):
            path = out.parent / f"{number}"
            settled = out.parent / f"{number}.text"
            with path.open("rb") as source, settled.open("wb") as text:
                for block in _blocks(iter(partial(source.read, BLOCK), b"")):
                    text.write(self.blocks.settle(block))
                    self._through(len(block))
            path.unlink()
            name = hide(file.name)
            size = settled.stat().st_size
            carried.append(Carried(name, _member(number, name), kinds[file.name], size, hide(file.host), cut))
        lines = out.parent / FACTS
        with lines.open("wb") as text_of_facts:
            hidden_inputs = [_hidden(given, hide) for given in inputs]
            text_of_facts.writelines(encode_facts(map(self._hidden_fact, facts), hidden_inputs))
        manifest = Manifest(
            1,
            f"pdoctor {doctor.__version__}",
            datetime.now(UTC).isoformat(timespec="seconds"),
            tuple(carried),
            len(facts),
            dict(sorted(self.redactor.counts.items())),
            tuple(sorted({f"{hide(given.path)}: {given.notes[0].key}" for given in left if given.notes})),
        )
        stated = out.parent / MANIFEST
        stated.write_bytes(msgspec.json.encode(manifest) + b"\n")
        with BundleArchive(out, target) as add:
            now = datetime.now(UTC).timestamp()
            add(MANIFEST, now, stated)
            add(FACTS, now, lines)
            for number, (file, one) in enumerate(zip(texts, carried, strict=True)):
                add(one.member, _time(file), out.parent / f"{number}.text")
        return manifest

    def _hidden_fact(self, fact: Fact) -> Fact:
        before = self.redactor.counts.copy()
        shown = self.redactor.fact(fact)
        for kind in self.redactor.counts.keys() - self.blocks.samples.keys():
            if self.redactor.counts[kind] > before[kind]:
                self.blocks.samples[kind] = f"{shown.name} = {shown.value}  ({shown.entity})"[:LONGEST_SAMPLE]
        return shown


def _hidden(given: Input, hide: Callable[[str], str]) -> Input:
    notes = tuple(replace(n, path="", values={key: hide(text) for key, text in n.values.items()}) for n in given.notes)
    return replace(given, path=hide(given.path), host=given.host and hide(given.host), notes=notes)


def _member(number: int, name: str) -> str:
    """A name of its own in the archive, without anything that leads out of a folder."""
    safe = "/".join(re.sub(r"[^\w.+=-]", "_", part)[:100] for part in re.split(r"[/:]+", name) if part.strip("."))
    return f"{FILES}{number:05}/{safe[-200:].lstrip('/') or 'text'}"


def _ends(path: Path, cut: list[bool]) -> Iterator[bytes]:
    """The text of a file; of a very long one its beginning and its end."""
    quiet: Callable[[str], None] = lambda remark: None  # noqa: E731
    size = sum(len(piece) for piece in chunks(path, quiet)) if path.stat().st_size > HEAD >> 3 else 0
    if size <= HEAD + TAIL:
        yield from chunks(path, quiet)
        return
    cut[0] = True
    at, skipping = 0, False
    for piece in chunks(path, quiet):
        if at + len(piece) <= HEAD:
            yield piece
        elif at >= size - TAIL:
            yield piece if skipping else piece[piece.find(b"\n") + 1 :]
            skipping = True
        elif at <= HEAD < at + len(piece):
            yield piece[: piece.find(b"\n") + 1]
        at += len(piece)


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same in whole lines; a line of more than LONGEST_LINE bytes is cut."""
    rest = b""
    for piece in pieces:
        rest += piece
        if end := rest.rfind(b"\n") + 1:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest


def _time(file: File) -> float:
    with suppress(OSError):
        return os.stat(file.path).st_mtime
    return 0.0


def taken_by_kind(manifest: Manifest) -> Counter[str]:
    """How many texts of each kind the bundle holds."""
    return Counter(text.kind for text in manifest.files)
