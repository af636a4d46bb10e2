"""The stage between collecting and writing: secrets are hidden, and people and machines get other names.

It goes over every text twice: `stage` hides what is a secret by itself and learns its value and the names of users
and hosts; `settle` hides these values wherever else they stand and puts the other names.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote

from doctor.facts.model import Fact, Source, Value
from doctor.session.hostlist import hosts_in
from probes.secrets import HIDDEN, hide, redact
from probes.secrets.names import holds_secret, strength

LEAST, MOST_KNOWN, MOST_LINES_OF_A_KEY = 8, 2_000, 400
MOST_LINES_OF_A_VALUE, MOST_NAMES = 8, 20_000

_TELLING = re.compile(r"[^a-z]|.{16}")
_USER = re.compile(
    r"(?:/home/|/Users/|/data/home/|/export/home/)(?P<path>[\w.-]+)"
    r"|\b(?:USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER|SBATCH_USER)[\"']?\s*[=:]\s*[\"']?(?P<env>[A-Za-z][\w.-]+)"
    r"|(?<![\w.@/:-])(?P<prompt>[a-z_][\w.-]*)@(?=[\w.-]+[: ][^@\n]{0,80}[$#] )"
)
_HOST_VARIABLES = (
    r"\b(?:MASTER_ADDR|HOSTNAME|SLURMD_NODENAME|SLURM_SUBMIT_HOST|SLURMD_HOST|NODE_NAME|POD_NAME|[Hh]ostname)"
    r"[\"']?\s*[=:]"
)
_HOST_LISTS = r"\b(?:SLURM_(?:JOB_)?NODELIST|NodeList)[\"']?\s*[=:]|--(?:node[_-]?list|hosts?)[ =]"
_HOST_FLAGS = r"--(?:master[_-]addr|rdzv[_-]endpoint)[ =]"
HOST_SIGNS = rf"{_HOST_VARIABLES}|{_HOST_LISTS}|{_HOST_FLAGS}|\btcp://[A-Za-z]"
"""What stands before the name of a host."""
_HOST = re.compile(
    rf"{_HOST_VARIABLES}\s*[\"']?(?P<env>[A-Za-z][\w.-]+)"
    rf"|(?:{_HOST_LISTS})\s*[\"']?(?P<list>[A-Za-z][\w.,\[\]-]+)"
    rf"|{_HOST_FLAGS}(?P<flag>[A-Za-z][\w.-]+)"
    r"|^(?P<nccl>[A-Za-z][\w.-]*)(?=:\d+:\d+ \[)"
    r"|\btcp://(?P<url>[A-Za-z][\w.-]+)(?=:\d)"
    r"|[a-z_][\w.-]*@(?P<prompt>[A-Za-z][\w.-]+)(?=[: ][^@\n]{0,80}[$#] )"
)
_NAME_HINT = re.compile(
    r"/home/|/Users/|USER|LOGNAME|@|ADDR|HOST|NODE|NodeList|[Hh]ostname|POD_NAME|--|tcp://|:\d+:\d+ \["
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.[A-Za-z]{2,}(?![\w-])")
_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{1,4}:){2,7}(?::?[0-9A-Fa-f]{0,4}){1,7}(?![\w:])")
_VERSION_BEFORE = re.compile(
    r"(?:==|version|\bver\b|nvidia-[\w-]+|cu\w*blas\w*|cudnn|cuda|firmware|\bfw\b|driver|package|lib\w+)[\s:=('\"]*$",
    re.I,
)
DOMAIN = r"(?:\.[a-z][a-z0-9-]*){0,4}\.(?:com|net|org|io|ai|edu|gov|cn|de|uk|fr|eu|internal|local|lan|corp|cloud)\b"

_RESOLVERS = frozenset({"8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9"})
_COMMON_USERS = frozenset({"root", "ubuntu", "admin", "user", "ec2-user", "nobody", "git", "home", "runner", "me"})
_COMMON_HOSTS = re.compile(r"(?:(?:localhost|node|worker|master|server|host|rank|n)[-_]?\d{0,4}|\?|\d.*)$", re.I)
"""Names that tell nothing."""
_WORD = re.compile(r"[A-Za-z]+$")

_KEY_BEGINS, _KEY_ENDS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY|^Private-Lines: (?P<n>\d{1,3})$"), "-----END"
_OF_A_KEY = re.compile(r"^\s*[A-Za-z0-9+/=]+\s*$|[A-Za-z0-9+/]{16,}=*\s*$|(?:Proc-Type|DEK-Info|Comment): .*$")
_NAMED_ENTRY = re.compile(r"^\s*(?:-\s+)?\"?name\"?\s*:\s*[\"']?(?P<name>[\w.-]+)[\"']?,?\s*$")
_OPEN_VALUE = re.compile(r"(?P<name>[\w.-]{2,80})[\"']?\s*[=:]\s*(?P<quote>[\"'])(?P<value>(?:[^\"'\\]|\\.)+)$")
_OPEN_BLOCK = re.compile(r"(?P<indent>\s*)(?:-\s+)?[\"']?(?P<name>[\w.-]{2,80})[\"']?\s*:\s*[|>][-+\d]*\s*$")
_OPEN_WORD = re.compile(r"(?P<name>-{1,2}[\w.-]{2,80}(?=\s)|[\w.-]{2,80}(?==))=?\s*\\$")
_WORD_OF_A_VALUE = re.compile(r"(\s*[\"']?)([^\s\"']+)(.*)")
_NOT_OF_A_VALUE = re.compile(
    r"\s*(?:export |declare )?[\w.-]+\s*[=:]|\s*[\[{]|\s*\d{4}-\d\d|\s*(?:File|Traceback) |.*: "
)
"""A line that goes on with something else, although a quote is still open."""
_VALUE_ENTRY = re.compile(r"^(?P<head>\s*\"?value\"?\s*:\s*[\"']?)(?P<value>[^\"'\s][^\"']*?)(?P<tail>[\"']?,?\s*)$")


@dataclass(frozen=True, slots=True)
class Known:
    """What was learnt: `hosts` are renamed wherever they stand, `wordlike` where only a host can stand; `stems` begin
    the lists of hosts, as in `gpu[01-08]`; `names` are the other names."""

    secrets: tuple[str, ...]
    users: tuple[str, ...]
    hosts: tuple[str, ...]
    wordlike: tuple[str, ...]
    stems: tuple[str, ...]
    names: dict[str, str]


class Redactor:
    """Hides and renames, and counts what it did by kind. `keep_hosts` leaves hosts and addresses as they are.

    `words` are those that a diagnosis looks for: a host that is called by one of them is renamed with care.
    """

    def __init__(self, hosts: Iterable[str] = (), keep_hosts: bool = False, words: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self._keep_hosts = keep_hosts
        self._hosts: set[str] = set() if keep_hosts else {*hosts}
        self._users, self._secrets = set[str](), set[str]()
        self._mails: dict[str, str] = {}
        self._nets: dict[str, str] = {}
        self._words = frozenset(word.lower() for word in words)
        self._in_key, self._in_value, self._entry, self._quote, self._indent = 0, 0, "", "", -1
        self._known: re.Pattern[str] | None = None
        self._people: re.Pattern[str] | None = None
        self._machines: re.Pattern[str] | None = None
        self._lists: re.Pattern[str] | None = None
        self._careful: re.Pattern[str] | None = None
        self._learnt = Known((), (), (), (), (), {})
        self._frozen = False

    def begin(self) -> None:
        """Another text begins."""
        self._in_key, self._in_value, self._entry, self._quote, self._indent = 0, 0, "", "", -1

    @property
    def midway(self) -> bool:
        """May the next line belong to a secret that began in one before?"""
        return bool(self._in_key or self._in_value or self._entry)

    def known(self) -> Known:
        """What `settle` hides and renames from here on."""
        if not self._frozen:
            self._freeze()
        return self._learnt

    def stage(self, line: str) -> str:
        """One line without the secrets that show by themselves."""
        body = line.rstrip("\r\n")
        return self._stage(body) + line[len(body) :]

    def _stage(self, line: str) -> str:
        if self._in_key:
            self._in_key -= 1
            if _KEY_ENDS in line:
                self._in_key = 0
                return line
            if part := _OF_A_KEY.search(line):
                self._secrets.add(part[0].strip())
                return line[: part.start()] + HIDDEN
            self._in_key = 0
        if self._in_value and (rest := self._value_goes_on(line)) is not None:
            return rest
        if (begins := _KEY_BEGINS.search(line)) and _KEY_ENDS not in line:
            self._in_key = min(int(begins["n"] or MOST_LINES_OF_A_KEY), MOST_LINES_OF_A_KEY)
            self.counts["private key"] += 1
        if self._entry and (value := _VALUE_ENTRY.match(line)):
            hidden = redact(self._entry, value["value"])
            if hidden == HIDDEN:
                self._seen("named value", value["value"])
                line = value["head"] + HIDDEN + value["tail"]
        entry = _NAMED_ENTRY.match(line) if "name" in line else None
        self._entry = entry["name"] if entry else ""
        if _NAME_HINT.search(line):
            self.learn_names(line)
        return hide(line if self._in_key else self._opened(line), self._seen)

    def _opened(self, line: str) -> str:
        """The line without the beginning of a secret that goes on in the next ones: an open quote, a block of YAML."""
        found = _OPEN_VALUE.search(line) if line.count('"') % 2 or line.count("'") % 2 else None
        if found and strength(found["name"]) == 2:
            self._in_value, self._quote = MOST_LINES_OF_A_VALUE, found["quote"]
            self._seen("named value", found["value"])
            return line[: found.start("value")] + HIDDEN + line[found.end("value") :]
        if line.endswith("\\") and (found := _OPEN_WORD.search(line)) and strength(found["name"].lstrip("-")):
            self._in_value, self._quote = 1, "\\"
            return line
        if ":" in line and (found := _OPEN_BLOCK.match(line)) and strength(found["name"]) == 2:
            self._in_value, self._indent = MOST_LINES_OF_A_KEY, len(found["indent"])
            self.counts["named value"] += 1
        return line

    def _value_goes_on(self, text: str) -> str | None:
        """The line without what belongs to the secret that began before; None once that is at its end."""
        self._in_value -= 1
        if self._quote == "\\":
            self._quote = ""
            if (word := _WORD_OF_A_VALUE.fullmatch(text)) is None or not holds_secret("password", word[2]):
                return None
            self._seen("named value", word[2])
            return hide(word[1] + HIDDEN + word[3], self._seen)
        if self._quote:
            value, quote, rest = text.partition(self._quote)
            ends = bool(quote) or bool(_NOT_OF_A_VALUE.match(text))
            hides = bool(quote) or not ends
        else:
            value, rest = text, ""
            hides = not text.strip() or len(text) - len(text.lstrip()) > self._indent
            ends, quote = not hides, ""
        if ends or not self._in_value:
            self._in_value, self._quote, self._indent = 0, "", -1
        if not hides:
            return None
        self._know(value.strip())
        return (HIDDEN if value.strip() else value) + quote + rest

    def settle(self, line: str) -> str:
        """A line that was staged, without what was learnt from all of them."""
        if not self._frozen:
            self._freeze()
        if self._known:
            line = self._known.sub(lambda match: self._told("repeated secret", HIDDEN), line)
        if self._people:
            line = self._people.sub(lambda match: self._told("user", self.names[match[0]]), line)
        if self._machines:
            line = self._machines.sub(lambda match: self._told("host", self._machine(match)), line)
        if self._lists:
            line = self._lists.sub(lambda match: self._told("host", "host-"), line)
        if self._careful:
            line = self._careful.sub(lambda match: self._told("host", self.names[match[0]]), line)
        if "@" in line:
            line = _MAIL.sub(lambda match: self._mail(match[0]), line)
        return line if self._keep_hosts else self._addresses(line)

    def text(self, text: str) -> str:
        """A short text, such as a name or a value of a fact."""
        return "\n".join(self.settle(self.stage(line)) for line in text.split("\n"))

    def learn(self, facts: Iterable[Fact]) -> None:
        """Learns what is secret in facts, before anything is settled."""
        before = self.counts.copy()
        for fact in facts:
            self.begin()
            for text in (fact.value, fact.source.text, fact.source.path, *(s.text for s in fact.because)):
                if isinstance(text, str):
                    self.stage(f"{fact.name.removeprefix('env.')}={text}" if text is fact.value else text)
        self.begin()
        self.counts = before

    def fact(self, fact: Fact) -> Fact:
        """The same without secrets, under the other names."""
        variable = fact.name.partition(".")[2] if fact.name.startswith("env.") else ""
        return replace(
            fact,
            value=self._value(variable, fact.value),
            entity=self.text(fact.entity),
            source=self._source(fact.source),
            because=tuple(self._source(source) for source in fact.because),
        )

    def _value(self, variable: str, value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(self.text(item) if isinstance(item, str) else item for item in value)
        if not isinstance(value, str):
            return value
        if variable and redact(variable, value) == HIDDEN:
            self._seen("named value", value)
            return HIDDEN
        return self.text(value)

    def _source(self, source: Source) -> Source:
        return replace(source, path=self.text(source.path), text=self.text(source.text), said=None)

    def _seen(self, kind: str, secret: str) -> None:
        if kind not in ("within base64",):
            self.counts[kind] += 1
        for part in _parts(secret.strip()):
            self._know(part)

    def _know(self, secret: str) -> None:
        if len(secret) >= LEAST and _TELLING.search(secret) and len(self._secrets) < MOST_KNOWN and secret != HIDDEN:
            self._frozen = self._frozen and secret in self._secrets
            self._secrets.add(secret)

    def learn_names(self, line: str) -> None:
        """Learns names of users and hosts, until the first line is settled."""
        for found in _USER.finditer(line):
            name = found[found.lastgroup or 0]
            if len(name) >= 2 and name not in _COMMON_USERS and not self.names:
                self._users.add(name)
        for found in _HOST.finditer(line) if not self._keep_hosts and not self.names else ():
            names = hosts_in(found["list"]) if found["list"] else [found[found.lastgroup or 0]]
            if len(self._hosts) < MOST_NAMES:
                self._hosts.update(name.rstrip(".-") for name in names)

    def _freeze(self) -> None:
        """Makes patterns of what is known."""
        self._frozen = True
        self._known = _any({form for secret in self._secrets for form in forms(secret)}, r"(?:", r")")
        users = sorted(self._users)
        hosts = sorted((host for host in self._hosts if not _COMMON_HOSTS.match(host) and len(host) > 1), key=_natural)
        short = [host for host in hosts if not any(host != o and host.startswith(o + ".") for o in hosts)]
        if not self.names:
            self.names = {name: f"user{number}" for number, name in enumerate(users, 1)}
            self.names |= _numbered(short)
            # The full name of a host is the host.
            self.names |= {host: self.names[o] for host in hosts for o in short if host.startswith(o + ".")}
        self._people = _any(
            self._users,
            r"(?:(?<=/)|(?<=[Uu]=)|(?<=USER[=:])|(?<=NAME=)|(?<![\w.@/:-])(?=[\w.-]+@)|(?<=USER: ))(?:",
            r")(?![\w-])",
        )
        wordlike = [host for host in hosts if _WORD.match(host) and host.lower() in self._words]
        hosts = [host for host in hosts if host not in wordlike]
        self._machines = _any(hosts, r"(?<![A-Za-z0-9])(?:", rf")(?![A-Za-z0-9])(?:{DOMAIN})?")
        stems = {stem for host in hosts if len(stem := host.rstrip("0123456789")) > 3 and stem != host}
        self._lists = _any(stems, r"(?<![A-Za-z0-9])(?:", r")(?=\[\d)")
        names = "|".join(map(re.escape, wordlike))
        self._careful = (
            re.compile(
                rf"(?:(?<=@)|(?<=//)|(?<==)|(?<=node:)|(?<=gpu:)|(?<=nic:))(?:{names})(?![A-Za-z0-9])"
                rf"|^(?:{names})(?=:\d+:\d+ \[|: |\s*$)|\b(?:{names})(?=:\d{{2,5}}\b|{DOMAIN})"
            )
            if wordlike
            else None
        )
        self._learnt = Known(
            tuple(self._secrets), tuple(users), tuple(hosts), tuple(wordlike), tuple(stems), self.names
        )

    def _machine(self, match: re.Match[str]) -> str:
        text = match[0]
        return self.names.get(text) or next(
            self.names[host] for host in sorted(self.names, key=len, reverse=True) if text.startswith(host)
        )

    def _told(self, kind: str, text: str) -> str:
        self.counts[kind] += 1
        return text

    def _mail(self, mail: str) -> str:
        if mail.startswith("git@"):
            return mail
        return self._told("e-mail", self._mails.setdefault(mail, f"person{len(self._mails) + 1}@example.com"))

    def _addresses(self, line: str) -> str:
        if line.count(".") > 2:
            line = _IPV4.sub(lambda match: self._address(match), line)
        return _IPV6.sub(lambda match: self._address(match), line) if line.count(":") > 3 else line

    def _address(self, match: re.Match[str]) -> str:
        """A public address in the range for benchmarks (RFC 2544) or documentation (RFC 3849); neighbours stay so."""
        text = match[0]
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return text
        if not address.is_global or address.is_multicast or text in _RESOLVERS:
            return text
        if _VERSION_BEFORE.search(match.string[max(0, match.start() - 40) : match.start()]):
            return text
        if address.version == 4:
            net, _, last = text.rpartition(".")
            number = int(self._nets.setdefault(net, str(len(self._nets))))
            return self._told("public address", f"198.{18 + (number >> 8) % 2}.{number % 256}.{last}")
        number = int(self._nets.setdefault(address.compressed, str(len(self._nets))))
        return self._told("public address", f"2001:db8::{number + 1:x}")


def _parts(secret: str) -> Iterator[str]:
    """The secret, and what is secret in it: the password after a user's name, each value of a cookie."""
    yield secret
    if ";" in secret or re.match(r"[\w-]{1,40}=", secret):
        yield from (value for pair in secret.split(";") if (value := pair.partition("=")[2].strip()))
    elif len(words := secret.split(":")) == 2:
        yield words[1]


def forms(secret: str) -> Iterable[str]:
    """The secret as it stands, in base64, in a URL."""
    yield secret
    yield base64.b64encode(secret.encode("utf-8", "surrogateescape")).decode().rstrip("=")
    if (quoted := quote(secret, safe="", errors="replace")) != secret:
        yield quoted


def _any(words: Iterable[str], before: str, after: str) -> re.Pattern[str] | None:
    chosen = sorted(words, key=len, reverse=True)
    return re.compile(before + "|".join(map(re.escape, chosen)) + after) if chosen else None


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d{1,18})", name)]


def _numbered(hosts: list[str]) -> dict[str, str]:
    """`host-N` by host, in the same order; with the number of their own where each host has one."""
    digits = [found[0] if (found := re.search(r"\d{1,6}$", host)) else "" for host in hosts]
    if all(digits) and len({int(number) for number in digits}) == len(hosts):
        return {host: f"host-{number}" for host, number in zip(hosts, digits, strict=True)}
    width = len(str(len(hosts)))
    return {host: f"host-{number:0{width}}" for number, host in enumerate(hosts, 1)}
