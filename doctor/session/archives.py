"""Archives are read as the folders that they were made of: a member is shown as `archive:member`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from doctor.session import tar, zips
from doctor.session.bundle import MANIFEST, MANIFEST_MAGIC, unbundled
from doctor.session.contents import SAMPLE, File
from doctor.session.inputs import MAX_FILES, SKIPPED_FOLDERS
from doctor.session.kinds import is_text
from doctor.session.notes import Note
from doctor.session.spool import Spool
from doctor.session.tar import DamagedError, Member
from probes.files.expert_loads import is_packed_loads
from probes.files.stream import MAGIC, chunks, unpacked

RATIO, FLOOR = 200, 256 << 20
"""An archive may unpack to RATIO times its size, and to FLOOR bytes in any case; a bundle to what the spool has room
for, since logs that repeat themselves pack well."""

DEPTH = 1
"""An archive within an archive is opened; one within that is not."""

PACKED = (*(magic for magic, _, _ in MAGIC), zips.MAGIC)
DUMPED = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
RECORDS = (b"collective_seq_id", b"profiling_name", b"pg_config", b"device_traces", b"segment_type", b"total_size")
"""Words in the beginning of a pickle that is a dump of PyTorch's recorders and not a checkpoint."""

READ_WHOLE = (b"SQLite format 3\x00", b"\x93NUMPY", b"PAR1")
"""Beginnings of databases, arrays and tables that have readers of their own."""

SKIPPED = SKIPPED_FOLDERS | {"__MACOSX"}


@dataclass(slots=True)
class Room:
    """Bytes that an archive, with the archives in it, may unpack to."""

    whole: int
    left: int


def expanded(files: Iterable[File], spool: Spool, notes: list[Note]) -> list[File]:
    """`files` with the members of archives in the place of these. What is passed over, and why, goes to `notes`.

    Members of a bundle have the names that they had where it was written.
    """
    found: list[File] = []
    for file in files:
        most = spool.room if _is_bundle(Path(file.path)) else max(FLOOR, RATIO * file.bytes)
        _expand(file, Room(most, most), spool, notes, found)
    return unbundled(found, notes)


def _expand(file: File, room: Room, spool: Spool, notes: list[Note], found: list[File], depth: int = 0) -> None:
    path = Path(file.path)
    if not (kind := _kind(path)):
        found.append(file)
        return
    if depth > DEPTH:
        notes.append(Note("input.nested", file.name))
        return
    remarks: list[str] = []
    before, binary = len(found) + len(notes), 0
    try:
        for member in _members(path, kind, room.left, remarks.append):
            if len(found) >= MAX_FILES:
                notes.append(Note("input.too_many", file.name, {"limit": str(MAX_FILES)}))
                break
            if SKIPPED & {*member.name.split("/")} or member.name.rpartition("/")[2].startswith("._"):
                continue
            pieces = _until_damage(member, remarks)
            first = next(pieces, b"")
            if first and not _of_use(first):
                binary += 1
                continue
            stored, size, cut = spool.save(chain([first], pieces), room.left, member.time)
            room.left -= size
            _expand(File(str(stored), f"{file.name}:{member.name}", size), room, spool, notes, found, depth + 1)
            if cut:
                remarks.append(f"unpacks to more than {room.whole - room.left:,} bytes: only these were read")
                break
    except (DamagedError, OSError) as error:
        remarks.append(str(error))
    notes += [Note("input.archive_damaged", file.name, {"reason": remarks[0]})] if remarks else []
    notes += [Note("input.archive_binary", file.name, {"n": str(binary)})] if binary else []
    if len(found) + len(notes) == before:
        notes.append(Note("input.archive_empty", file.name))


def _kind(path: Path) -> str:
    """zip, tar, or nothing for a file that is no archive, one that cannot be read, or one that is read as it is."""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(tar.BLOCK)
        if head.startswith(zips.MAGIC):
            return "" if is_packed_loads(path) else "zip"
        if head.startswith(PACKED):
            head = next(unpacked(path, _quiet), b"")
        return "tar" if tar.is_tar(head) else ""
    return ""


def _is_bundle(path: Path) -> bool:
    """Does the archive begin with the manifest of a bundle?"""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(tar.BLOCK)
        if head.startswith(zips.MAGIC):
            return head[30:].startswith(MANIFEST.encode())
        if head.startswith(PACKED):
            head = next(unpacked(path, _quiet), b"")
            return head.startswith(MANIFEST.encode() + b"\0") and head[tar.BLOCK :].startswith(MANIFEST_MAGIC)
    return False


def _members(path: Path, kind: str, limit: int, warn: Callable[[str], None]) -> Iterator[Member]:
    if kind == "zip":
        yield from zips.zip_members(path)
        return
    with path.open("rb") as file:
        packed = file.read(8).startswith(PACKED)
        file.seek(0)
        yield from tar.members(tar.Unpacked(unpacked(path, warn, limit)) if packed else tar.Stored(file))


def _until_damage(member: Member, remarks: list[str]) -> Iterator[bytes]:
    try:
        yield from member.pieces
    except DamagedError as error:
        remarks.append(f"{member.name}: {error}")


def _of_use(head: bytes) -> bool:
    """Is this the beginning of a text, of something packed, or of a dump? A checkpoint is not laid down only to be
    passed over."""
    if head.startswith(DUMPED):
        return any(word in head[:SAMPLE] for word in RECORDS)
    return head.startswith((*PACKED, *READ_WHOLE)) or is_text(next(chunks(head, _quiet), b"")[:SAMPLE])


def _quiet(remark: str) -> None:
    """What is remarked here is remarked again when the file is read."""


def laid_member(file: File, name: str, spool: Spool, most: int) -> Path | None:
    """The member of an archive that is shown as `name`, laid down up to `most` bytes; None where it has none so called.

    OSError or DamagedError where the archive cannot be read up to it.
    """
    path = Path(file.path)
    if not (kind := _kind(path)):
        return None
    for member in _members(path, kind, max(FLOOR, RATIO * file.bytes), _quiet):
        shown = f"{file.name}:{member.name}"
        if name == shown or name.startswith(f"{shown}:"):
            stored, size, _ = spool.save(member.pieces, most)
            return stored if name == shown else laid_member(File(str(stored), shown, size), name, spool, most)
    return None
