"""What `pdoctor attach` does only when asked: the options, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from doctor.messages import say
from doctor.session.notes import Note
from doctor.session.watch.model import Kept

if TYPE_CHECKING:
    from doctor.session.watch.acting import Acting
    from doctor.session.watch.state import Stored
    from doctor.session.watch.watch import Watch

Command = TypeVar("Command", bound=Callable[..., Any])


def acts(command: Command) -> Command:
    """The options, in the order of the help."""
    path = click.Path(dir_okay=False, path_type=Path)
    shared: tuple[Callable[[Command], Command], ...] = (
        click.option("--on-finding", metavar="CMD", callback=_command, help="Run CMD, a finding as JSON on its stdin."),
        click.option(
            "--webhook", metavar="URL", envvar="PDOCTOR_WEBHOOK", callback=_address,
            help="Post findings as JSON to URL; also from the variable PDOCTOR_WEBHOOK.",
        ),
        click.option("--jsonl", type=path, metavar="FILE", callback=_folder, help="Append findings, each a line."),
        click.option(
            "--metrics-file", type=path, metavar="FILE", callback=_folder, help="Keep metrics for Prometheus in FILE."
        ),
        click.option(
            "--metrics-port", metavar="[HOST:]PORT", callback=_port,
            help="Serve metrics at /metrics, on this machine alone unless HOST is given.",
        ),
        click.option(
            "--dump", multiple=True, type=click.Choice(("flight-recorder", "stacks", "memory")),
            help="Take dumps when the job seems to hang, of memory when it fills up; may be given several times.",
        ),
        click.option("--state", type=path, metavar="FILE", callback=_folder, help="Go on here after a restart."),
    )  # fmt: skip
    for option in reversed(shared):
        command = option(command)
    return command


@dataclass(slots=True)
class Acts:
    """What is asked for, before the watch begins: `stored` is the state of an earlier watch, `kept` what this one takes
    over from it. Raises InputError for a state that is none of this watch."""

    asked: Mapping[str, Any]
    targets: tuple[str, ...]
    told: Callable[[Note], object]
    stored: Stored
    kept: Kept

    @classmethod
    def of(cls, asked: Mapping[str, Any], targets: Sequence[str], told: Callable[[Note], object]) -> Acts:
        from doctor.session.watch.acting import kept_of
        from doctor.session.watch.state import Stored, read_state

        path = asked["state"]
        stored = read_state(path, told) if path is not None else Stored()
        kept = kept_of(path, stored, targets) if path is not None else Kept()
        return cls(asked, tuple(targets), told, stored, kept)

    def beside(self, watch: Watch, lang: str, pid: int | None, slurm: str | None, clock: Callable[[], float]) -> Acting:
        """Begins; UsageError where the port is not to be had."""
        from doctor.session.node import this_host
        from doctor.session.watch.acting import Acting
        from doctor.session.watch.actions import Actions, Asked
        from doctor.session.watch.dumps import KINDS, Dumps
        from doctor.session.watch.memory_dumps import MEMORY, MemoryDumps
        from doctor.session.watch.state import StateFile
        from doctor.views.watch_json import announcement

        asked = self.asked
        host, port = asked["metrics_port"] or ("", None)
        wanted = Asked(
            asked["on_finding"], asked["webhook"], asked["jsonl"], asked["metrics_file"], port, host or "127.0.0.1"
        )
        try:
            actions = Actions(wanted, lambda said: announcement(said, lang), self.told, self.stored.owed)
        except OSError as error:
            reason = error.strerror or str(error)
            raise click.UsageError(say(lang, "attach.no_port", path=f"{host}:{port}", reason=reason)) from None
        node = replace(this_host(), pid=pid or 0, job="" if pid else slurm or "")
        beside = node, lambda: list(watch.follower.followed), self.told, watch.add_facts, clock
        dumps: list[Dumps | MemoryDumps] = [Dumps([kind for kind in KINDS if kind in asked["dump"]], *beside)]
        if MEMORY in asked["dump"]:
            dumps.append(MemoryDumps(*beside))
        state = StateFile(asked["state"], self.told) if asked["state"] is not None else None
        return Acting(watch, actions, dumps, state, self.stored, self.targets)


def _command(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    from doctor.session.watch.command import CommandError, read_command

    try:
        return read_command(value) if value is not None else ()
    except CommandError as error:
        raise click.BadParameter(f"{value!r} {error}", context, parameter) from None


def _address(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """The address is not said where it is wrong: it may hold a secret."""
    from doctor.session.watch.webhook import AddressError, read_address

    try:
        return read_address(value) if value is not None else None
    except AddressError as error:
        raise click.BadParameter(f"the address {error}", context, parameter) from None


def _folder(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """A folder that is not there is said at the start; one that goes later is waited for."""
    if value is not None and not value.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(value.parent)!r} to write to", context, parameter)
    return value


def _port(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, int] | None:
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not port.isascii() or not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        raise click.BadParameter(f"{value!r} should be a port such as 9400, or HOST:PORT", context, parameter)
    return host.strip("[]") or "127.0.0.1", int(port)
