"""`pdoctor`: the top of the command line, and how every command ends."""

from __future__ import annotations

import os
import sys
from typing import ClassVar

import click

import doctor
from doctor.cli.lazy import LazyGroup
from doctor.cli.settings import read_settings
from doctor.views.safe import visible

OK, FOUND, USAGE, UNDETERMINED, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit status: healthy, findings, wrong usage or unreadable input, a failure that no rule explains, Ctrl-C."""


class Top(LazyGroup):
    lazy: ClassVar = {
        "run": ("doctor.cli.run:run", "Find what is wrong on this node and with the job on it."),
        "attach": ("doctor.cli.attach:attach", "Watch a job that runs, and say what goes wrong as it happens."),
        "analyze": ("doctor.cli.analyze:analyze", "Find the root cause in what a job left behind."),
        "ui": ("doctor.cli.ui:ui", "Walk through a diagnosis on the screen, to a change of the job's own files."),
        "compare": ("doctor.cli.compare:compare", "Say whether a change of the job helped, noise taken into account."),
        "plan": ("doctor.cli.plan:plan", "Find layouts for a model on a cluster, and what they cost."),
        "probe": ("doctor.cli.probe:probe", "List the probes of a node, or run some."),
        "bench": ("doctor.cli.bench:bench", "Test collectives between live ranks, and find who is slow."),
        "collect": ("doctor.cli.collect:collect", "Put what a diagnosis needs into one file, without secrets."),
        "rules": ("doctor.cli.rules:rules", "Look at the rule base, check it, test it, add to it."),
    }

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.lazy and os.path.exists(args[0]):
            raise click.UsageError(f"{args[0]!r} is not a command; to read it: pdoctor analyze {args[0]}")
        return super().resolve_command(ctx, args)


@click.group(cls=Top, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(doctor.__version__, prog_name="pdoctor")
@click.pass_context
def pdoctor(ctx: click.Context) -> None:
    """Diagnose distributed training jobs: logs in, root cause and fix out.

    Exit status: 0 healthy, 1 findings, 2 wrong usage or unreadable input, 3 undetermined, 130 interrupted.
    """
    if not {"-h", "--help"} & set(ctx.obj or ()):
        ctx.default_map = read_settings()


def main() -> None:
    """Entry point. A user's mistake is one clear line on stderr; anything unforeseen shows its traceback."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run one command line and give back its exit status."""
    try:
        status = pdoctor.main(args=args, prog_name="pdoctor", standalone_mode=False, obj=args)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return USAGE
    except click.ClickException as error:
        print(f"pdoctor: {visible(' '.join(error.format_message().split()))}", file=sys.stderr)
        return USAGE
    except click.Abort:
        print("pdoctor: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone: nobody is left to tell, and Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return status if isinstance(status, int) else OK
