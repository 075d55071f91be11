"""`strawboss …`: finds the command's module, and turns every complaint into one line and exit 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module

import click

from strawboss.cli.help import Group
from strawboss.system.printable import printable

# Section of the help → command → the module of strawboss.cli that holds it. Modules are imported when their command
# is used: each would cost every other its imports. The process inside pi does not come by here: see __main__.py.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Recovery": {
        "status": "status",
        "explain": "explain",
        "history": "history",
        "look": "look",
        "replay": "replay",
        "incident": "incident",
        "doctor": "setup",
        "install": "setup",
        "uninstall": "setup",
        "completion": "completion",
        "herdr-plugin": "herdr_plugin",
    },
    "Workers (heartbeat)": {
        "agent:beat": "liveness",
        "agent:monitor": "liveness",
        "verify:subagent-alive": "liveness",
        "subagent:steer": "steering",
        "subagent:inbox": "steering",
        "subagent:ack": "steering",
        "verify:subagent-steer": "steering",
        "subagent:pre-cancel": "dispatch",
        "swarm:pre-dispatch": "dispatch",
        "swarm:launch": "dispatch",
        "occupancy": "occupancy",
        "verify:review-monitor": "github",
        "github-auth-modes": "github",
    },
    "Agents and tasks (wakeup)": {
        "heartbeat": "wakeup",
        "agent": "agents",
        "budget": "agents",
        "inbox": "agents",
        "approve": "agents",
        "task": "tasks",
        "checkout": "tasks",
        "release": "tasks",
        "delegate": "tasks",
        "store": "store",
    },
}
COMMANDS = {name: module for section in SECTIONS.values() for name, module in section.items()}


class Commands(Group):
    """Commands by name, imported on use. `agent:monitor` is the click command `agent_monitor` of its module."""

    def sections(self) -> Mapping[str, Mapping[str, str]]:
        return SECTIONS

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(
            import_module(f"strawboss.cli.{module}"), cmd_name.replace(":", "_").replace("-", "_")
        )
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as unknown:
            name = unknown.command_name
            raise click.exceptions.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx) from None


@click.command(cls=Commands, name="strawboss", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="strawboss")
def strawboss() -> None:
    """Recovers stranded subagent runs of pi launchers in herdr.

    Beside that: liveness of workers that write heartbeats, and agents that wake up to do tasks.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run one command and leave with its exit code: 2 with one line for bad input."""
    arguments = sys.argv[1:] if arguments is None else arguments
    color = False if os.environ.get("NO_COLOR") else None  # None: in a terminal only
    try:
        code = strawboss.main(args=arguments, prog_name="strawboss", standalone_mode=False, color=color)
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.ctx.get_help())
        sys.exit(0)
    except click.ClickException as complaint:
        sys.exit(_complain(complaint, arguments))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(_reader_left())
    sys.exit(code if isinstance(code, int) else 0)


def _wants_json(arguments: list[str]) -> bool:
    return "--json" in arguments[: arguments.index("--") if "--" in arguments else None]


def _complain(complaint: click.ClickException, arguments: list[str]) -> int:
    """One line; for a program that reads JSON one document as well, whatever command or group complains."""
    context = getattr(complaint, "ctx", None)
    command = context.command_path if context else f"strawboss {arguments[0]}"
    message = printable(" ".join(complaint.format_message().split()))
    if _is_without_advice(complaint):
        message = f"{message.rstrip('.')}; `{command} --help` tells what to write"
    if _wants_json(arguments):
        from strawboss.heartbeat.replies import Complaint
        from strawboss.system.json_files import encode

        click.echo(encode(Complaint(False, 2, message)), nl=False)
    print(f"{command}: {message}", file=sys.stderr)
    return 2


def _is_without_advice(complaint: click.ClickException) -> bool:
    """click says what is wrong with a command line; only where something is near, it also says what to write."""
    if isinstance(complaint, (click.exceptions.NoSuchCommand, click.exceptions.NoSuchOption)):
        return not complaint.possibilities
    return isinstance(complaint, click.exceptions.MissingParameter)


def _reader_left() -> int:
    # `strawboss … | head`: nobody is left to complain to, not even at interpreter exit.
    sys.stdout = None
    return 141
