"""Many nodes: each is asked over ssh or srun for a bundle of what its probes see, and all are judged together."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from doctor.facts.model import Fact, Quality, Source
from doctor.rulebase.load import Loaded
from doctor.session.analyze import Material, configs_of, shown_files
from doctor.session.archives import expanded
from doctor.session.contents import File
from doctor.session.gather import Gathered, gather
from doctor.session.hostlist import hosts_in
from doctor.session.inputs import InputError, collect
from doctor.session.notes import Note
from doctor.session.report import Input
from doctor.session.spool import Spool
from doctor.session.unread import HOST

ASK = "collect --no-files --keep-hosts --quiet --output -"
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
SRUN = ("srun", "--overlap", "--nodes=1", "--ntasks=1", "--quiet")
MOST_BYTES, MOST_TALK, MOST_TEXT = 256 << 20, 64 << 10, 4 << 20
PACKED, LATE = b"\x28\xb5\x2f\xfd", "late"
NAME = re.compile(r"[A-Za-z0-9_](?:[\w.@:%-]*[\w\]])?$")


@dataclass(frozen=True, slots=True)
class Reach:
    """How hosts are asked: `words` bring a command to a host, `pdoctor` is what runs there; `seconds` for each host,
    at most `at_once` together. With `slurm` the words are those of srun, and it is the job's number."""

    words: tuple[str, ...] = SSH
    pdoctor: str = "pdoctor"
    seconds: float = 60.0
    at_once: int = 32
    slurm: str = ""

    def command(self, host: str) -> list[str]:
        asked = f"{self.pdoctor} {ASK}"
        if self.slurm:
            return [*self.words, f"--jobid={self.slurm}", f"--nodelist={host}", "sh", "-c", asked]
        return [*self.words, "--", host, asked]


@dataclass(frozen=True, slots=True)
class Answer:
    """The bundle that a host sent, or why there is none."""

    host: str
    bundle: str = ""
    reason: str = ""
    seconds: float = 0.0


def named_hosts(lists: Sequence[str], file: str | None = None) -> list[str]:
    """The hosts of lists such as `a,gpu[01-04]` and of a file with one a line (`host slots=8`, `host:8`, # comments).

    Raises InputError for a file that cannot be read and for a name that can be no host's.
    """
    found = [host for text in lists for host in hosts_in(text)]
    if file is not None:
        lines = _text_of(file).splitlines()
        words = (line.partition("#")[0].split() for line in lines)
        found += [host for first in words if first for host in hosts_in(re.sub(r":\d+$", "", first[0]))]
    for host in found:
        if not NAME.match(host):
            raise InputError(Note("hosts.name", host[:80]))
    return list(dict.fromkeys(found))


def _text_of(path: str) -> str:
    """A small text; a pipe that nobody writes to would be waited for, and a device has no end."""
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise InputError(Note("input.special", path))
        with Path(path).open("rb") as file:
            data = file.read(MOST_TEXT + 1)
    except OSError as error:
        raise InputError(Note("input.unreadable", path, {"reason": error.strerror or str(error)})) from None
    if len(data) > MOST_TEXT:
        raise InputError(Note("input.unreadable", path, {"reason": f"more than {MOST_TEXT:,} bytes"}))
    return data.decode("utf-8", "replace")


def hosts_of_job(job: str) -> tuple[str, list[str]]:
    """The number and the hosts of a Slurm job: of `job`, or without one of the job that this runs in.

    Raises InputError where there is none, or where squeue does not tell.
    """
    if not job:
        job = os.environ.get("SLURM_JOB_ID", "")
        listed = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST", "")
        if not job or not listed:
            raise InputError(Note("hosts.no_job", "--slurm"))
        return job, named_hosts([listed])
    if not re.fullmatch(r"[\w+.-]{1,40}", job) or job.startswith("-"):
        raise InputError(Note("hosts.job", job[:40], {"reason": "no number of a job"}))
    try:
        command = ["squeue", "--noheader", f"--jobs={job}", "--format=%N"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(Note("hosts.job", job, {"reason": f"squeue: {error}"})) from None
    hosts = named_hosts(done.stdout.split())
    if done.returncode or not hosts:
        raise InputError(Note("hosts.job", job, {"reason": _last(done.stderr) or "squeue lists no node for it"}))
    return job, hosts


def ask(hosts: Sequence[str], reach: Reach, spool: Path, told: Callable[[Answer], None] | None = None) -> list[Answer]:
    """Asks all hosts, and gives their answers in the order of `hosts`; bundles are laid down in the folder `spool`.

    A host that fails costs itself only. `told` hears of each answer as it comes.
    """
    answers: dict[str, Answer] = {}
    with ThreadPoolExecutor(max(min(reach.at_once, len(hosts)), 1)) as pool:
        asked = [pool.submit(_ask, host, reach, spool / str(number)) for number, host in enumerate(hosts)]
        for one in as_completed(asked):
            answer = one.result()
            answers[answer.host] = answer
            if told is not None:
                told(answer)
    return [answers[host] for host in hosts]


def read_hosts(answers: Sequence[Answer], loaded: Loaded, paths: Sequence[str] = ()) -> Material:
    """What the hosts sent and the files at and below `paths`, to be judged together.

    Raises InputError when one of `paths` does not exist.
    """
    silent = [answer for answer in answers if not answer.bundle]
    if len(silent) == len(answers) and silent and not paths:
        raise InputError(Note("hosts.silent", silent[0].host, {"reason": silent[0].reason}))
    # First of what was not checked.
    facts = [
        Fact(HOST, answer.reason, f"node:{answer.host}", Source("probe", answer.host), quality=Quality.FAILED)
        for answer in silent
    ]
    inputs: list[Input] = []
    notes: list[Note] = []
    whole = Gathered()
    taken: set[str] = set()
    with Spool() as spool:
        for answer in answers:
            if not answer.bundle:
                notes.append(Note("hosts.silent", answer.host, {"reason": answer.reason}))
                continue
            sent = File(answer.bundle, answer.host, os.path.getsize(answer.bundle))
            files = [replace(file, name=_named(answer.host, file.name)) for file in expanded([sent], spool, notes)]
            found = gather(files, loaded.base.events)
            facts += _of_host(answer.host, found.facts, taken)
            inputs += [
                replace(given, path=_named(answer.host, given.path), host=given.host or answer.host)
                for given in found.inputs
            ]
            whole.events += found.events
        here = collect(paths)
        notes += here.notes
        files = expanded(shown_files(here.files, paths), spool, notes) if paths else []
        found = gather(files, loaded.base.events)
        configs = configs_of(files, found.inputs)
    events = (*whole.events, *found.events)
    return Material(loaded, (*inputs, *found.inputs), (*found.facts, *facts), events, tuple(notes), configs)


def _of_host(host: str, facts: Iterable[Fact], taken: set[str]) -> list[Fact]:
    """The facts under the node's name, which is that of `host` where another has it already, with the host before the
    place where they were read; versions of packages stand for the node, too, so that nodes can be compared."""
    facts = list(facts)
    names = [fact.entity[5:] for fact in facts if fact.entity.startswith("node:")]
    own = max(set(names), key=names.count) if names else host
    name = host if own in taken else own
    taken.add(name)
    found = []
    for fact in facts:
        kind, colon, rest = fact.entity.partition(":")
        if kind in ("node", "gpu", "nic") and (rest == own or rest.startswith(own + "/")):
            fact = replace(fact, entity=f"{kind}{colon}{name}{rest[len(own) :]}")
        if fact.name == "rank.host" and fact.value == own:
            fact = replace(fact, value=name)
        fact = replace(fact, source=replace(fact.source, path=_named(host, fact.source.path)))
        found.append(fact)
        if fact.name.startswith("pip.") and fact.entity == "job":
            found.append(replace(fact, entity=f"node:{name}"))
    return found


def _named(host: str, path: str) -> str:
    return path if path.startswith(host + ":") else f"{host}:{path}"


def _ask(host: str, reach: Reach, out: Path) -> Answer:
    begin = time.monotonic()
    try:
        with out.open("wb") as bundle:
            process = subprocess.Popen(
                reach.command(host), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
            with process:
                try:
                    reason, talk, said = _take(process, bundle, begin + reach.seconds)
                finally:
                    with suppress(OSError):  # and what it started, should it still be there
                        os.killpg(process.pid, signal.SIGKILL)
    except OSError as failure:
        return Answer(host, "", f"{reach.words[0]}: {failure.strerror or failure}", time.monotonic() - begin)
    if reason == LATE:
        reason = f"gave no answer within {reach.seconds:g} s" + (f": {_last(said)}" if said.strip() else "")
    elif not reason and (process.returncode or not out.stat().st_size):
        reason = _why(process.returncode, said or talk, reach)
    return Answer(host, "" if reason else str(out), reason, time.monotonic() - begin)


def _take(process: subprocess.Popen[bytes], out: IO[bytes], deadline: float) -> tuple[str, str, str]:
    """Writes the bundle without what a login shell prints before it: why it is not whole, that text, and the end of
    what was said on stderr, of which a host may send any amount."""
    assert process.stdout is not None and process.stderr is not None
    bundle, errors = process.stdout.fileno(), process.stderr.fileno()
    taken = _Taken(out)
    said, reason, open_ = b"", "", [bundle, errors]
    while not reason and bundle in open_:  # a program that went on in the background may hold stderr for ever
        left = deadline - time.monotonic()
        ready = select.select(open_, [], [], left)[0] if left > 0 else []
        reason = "" if ready else LATE
        for pipe in ready:
            piece = os.read(pipe, 1 << 16)
            if not piece:
                open_.remove(pipe)
            elif pipe == errors:
                said = (said + piece)[-MOST_TALK:]
            else:
                reason = reason or taken.add(piece)
    if not reason:
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            reason = LATE
    while errors in open_ and len(said) < MOST_TALK and select.select([errors], [], [], 0)[0]:
        if not (piece := os.read(errors, MOST_TALK)):
            break
        said += piece
    talk = "" if taken.size else taken.head.decode("utf-8", "replace")
    return reason, talk, said.decode("utf-8", "replace")


class _Taken:
    """What a host sends, written from where the bundle begins."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self.head, self.size = out, b"", 0

    def add(self, piece: bytes) -> str:
        """Why no more is taken; nothing where it goes on."""
        if not self.size:
            self.head += piece
            at = self.head.find(PACKED)
            if at < 0 and len(self.head) > MOST_TALK:
                return "sent no bundle"
            piece = self.head[at:] if at >= 0 else b""
        self.size += len(piece)
        if self.size > MOST_BYTES:
            return f"sent more than {MOST_BYTES:,} bytes"
        self._out.write(piece)
        return ""


def _why(status: int, said: str, reach: Reach) -> str:
    told = _last(said)
    if status in (126, 127) or "command not found" in said or "No module named" in said:
        there = next(iter(reach.pdoctor.split()), "pdoctor")
        return (
            f"{there} cannot be run there ({told or status}): install it there (python3 -m pip install pdoctor), "
            "or say where it is: --remote-command /PATH/THERE/bin/pdoctor"
        )
    if "No such option" in said or "no such option" in said:
        return f"another version of pdoctor is there: {told}"
    return told or (f"ended with status {status}" if status else "sent nothing")


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
