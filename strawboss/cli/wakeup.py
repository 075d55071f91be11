"""`strawboss heartbeat`: the wake-up cycle, the health of all agents, the history, forced wake-ups."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from strawboss.cli.params import DURATION
from strawboss.cli.stores import agent_named, complain, opened, registry, say
from strawboss.cli.tables import markdown_table, show_table, terminal_table
from strawboss.system.printable import printable
from strawboss.wakeup import agents, monitor, report
from strawboss.wakeup.abandoned import StillRunningError
from strawboss.wakeup.agents import Agent, RegistryError
from strawboss.wakeup.cycle import LONG_STEP, Rhythm, Row, Show, is_open, run_cycle, wait_for_work, woken
from strawboss.wakeup.inspection import Inspection
from strawboss.wakeup.monitor import MonitorLook
from strawboss.wakeup.responses import OnStall
from strawboss.wakeup.step import Context
from strawboss.wakeup.store import events
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import StoreError


@click.command()
@click.option("--agent", "name", metavar="NAME", help="Agent to run the heartbeat for.  [default: self]")
@click.option("--check-all", is_flag=True, help="Health check all registered agents.")
@click.option(
    "--interval", type=DURATION, default="60s", show_default=True, help="Time between heartbeat pings."
)
@click.option(
    "--timeout", type=DURATION, default="180s", show_default=True, help="Stalled after this silence."
)
@click.option("--history", is_flag=True, help="Show the heartbeat event history.")
@click.option(
    "--last", type=click.IntRange(1), default=10, show_default=True, help="History entries to show."
)
@click.option("--wake", metavar="NAME", help="Force wake-up of a specific agent.")
@click.option(
    "--on-stall",
    type=click.Choice([action.value for action in OnStall]),
    default=OnStall.WARN.value,
    show_default=True,
    help="Action on stall.",
)
@click.option(
    "--every", type=DURATION, help="Do it again and again: a resident monitor, or an agent that keeps waking."
)
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object instead of a table (one a line with --every)."
)
@click.pass_context
def heartbeat(
    ctx: click.Context,
    name: str | None,
    check_all: bool,
    interval: float,
    timeout: float,
    history: bool,
    last: int,
    wake: str | None,
    on_stall: str,
    every: float | None,
    as_json: bool,
) -> int:
    """Run an agent's wake-up cycle; or watch over the health of all agents.

    Exit code 0: all is well. 1: a step failed, an agent needs attention, or the wake-up was refused.
    """
    _check(ctx, name, check_all, history, wake, interval, timeout)
    rhythm = Rhythm(interval, timeout, every)
    with opened() as database:
        if history:
            return _history(database, last, agent_named(name).name if name else None, as_json)
        if wake:
            return _wake(database, rhythm, wake, as_json)
        if check_all:
            return _check_all(database, rhythm, OnStall(on_stall), as_json)
        return _cycle(database, rhythm, agent_named(name), as_json)


def _check(
    ctx: click.Context,
    name: str | None,
    check_all: bool,
    history: bool,
    wake: str | None,
    interval: float,
    timeout: float,
) -> None:
    chosen = [
        flag
        for flag, given in (("--check-all", check_all), ("--history", history), ("--wake", wake))
        if given
    ]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} are different things; give one of them")
    if name and (check_all or wake):
        raise click.UsageError(f"--agent does not go with {chosen[0]}, which names its agents itself")
    if timeout <= interval:
        raise click.UsageError(
            "--timeout must be longer than --interval, or every agent is stalled between two pings"
        )
    for parameter, needs in (("last", "--history"), ("on_stall", "--check-all")):
        if (
            ctx.get_parameter_source(parameter) is click.core.ParameterSource.COMMANDLINE
            and needs not in chosen
        ):
            raise click.UsageError(f"--{parameter.replace('_', '-')} goes with {needs}")
    if (history or wake) and ctx.params["every"]:
        raise click.UsageError(f"--every does not go with {chosen[0]}")


def _cycle(database: Database, rhythm: Rhythm, agent: Agent, as_json: bool) -> int:
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    try:
        while True:
            code = _awake(database, rhythm, agent, as_json)
            if rhythm.every is None:
                return code
            # It was closed by others, who thought its host gone: it is not, so it begins anew.
    except StillRunningError as error:
        return _refused(f"strawboss heartbeat: {error}", as_json)


def _refused(why: str, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(report.refusal_json(why), ensure_ascii=False))
    complain(why)
    return 1


def _awake(database: Database, rhythm: Rhythm, agent: Agent, as_json: bool) -> int:
    """One wake-up: one cycle, or one after the other until somebody closes it."""
    with woken(agent, registry(), database, rhythm) as context:
        code = _one_cycle(context, as_json)
        while rhythm.every is not None and is_open(context):
            wait_for_work(context, rhythm.every)
            code = _one_cycle(context, as_json)
        return code


def _leave(number: int, _frame: object) -> None:
    # Not at once, as the system would have it: the command is ended and the task given back on the way out.
    raise SystemExit(128 + number)


def _one_cycle(context: Context, as_json: bool) -> int:
    agent = context.agent
    try:
        with _shown(agent, as_json) as show:
            rows = run_cycle(context, show)
    except StoreError as error:
        if context.cycle.every is None:
            raise
        return _refused(f"the task store: {error}; trying again as soon as it is back", as_json)
    if as_json:
        click.echo(json.dumps(report.cycle_json(agent.name, agent.slug, rows), ensure_ascii=False))
    return 1 if any(row.status == "failed" for row in rows) else 0


@contextmanager
def _shown(agent: Agent, as_json: bool) -> Iterator[Show]:
    """Where the rows go: a table that grows in a terminal, Markdown lines as steps end in a pipe, nowhere for JSON."""
    heading = report.cycle_heading(agent.name, agent.slug)
    if as_json:
        yield _show_nothing
    elif sys.stdout.isatty():
        with Live(Text(heading), auto_refresh=False) as live:
            rows: list[Row] = []
            yield lambda row: live.update(_grown(heading, rows, row), refresh=True)
    else:
        print(f"{heading}\n\n{markdown_table(report.CYCLE_COLUMNS, [])}", flush=True)
        yield _print_row


def _grown(heading: str, rows: list[Row], row: Row) -> Group:
    """The table with this row: in the place of the one that said "running", else at the end."""
    if rows and rows[-1].status == "running":
        rows.pop()
    rows.append(row)
    return Group(Text(heading), terminal_table(report.CYCLE_COLUMNS, map(report.cycle_row, rows)))


def _show_nothing(_: Row) -> None:
    """The rows come at the end, as one object."""


def _print_row(row: Row) -> None:
    # A line once written stays: only of the step that takes long it is worth one that it has begun.
    if row.status != "running" or row.step == LONG_STEP:
        print(markdown_table(report.CYCLE_COLUMNS, [report.cycle_row(row)]).splitlines()[-1], flush=True)


def _check_all(database: Database, rhythm: Rhythm, on_stall: OnStall, as_json: bool) -> int:
    if rhythm.every is None:
        found = monitor.look(registry(), database, rhythm, on_stall)
        _show_look(found, as_json)
        return 0 if found.is_well else 1
    with Live(auto_refresh=False) if sys.stdout.isatty() and not as_json else nullcontext() as live:
        for seen in monitor.watch(agents.load, database, rhythm, on_stall, rhythm.every):
            if not isinstance(seen, MonitorLook):
                _show_blindness(_blindness(seen, rhythm.every), as_json, live)
            elif live is not None:
                live.update(_drawn(seen), refresh=True)
            else:
                _show_look(seen, as_json)
    return 0


def _blindness(seen: StoreError | RegistryError, every: float) -> str:
    what = f"the task store: {seen}" if isinstance(seen, StoreError) else str(seen)
    return f"nothing can be seen: {what}; looking again in {every:.0f}s"


def _show_blindness(text: str, as_json: bool, live: Live | None) -> None:
    """A look that saw nothing is shown as such, in the place of the last one that saw something."""
    if as_json:
        click.echo(json.dumps(report.blind_json(text), ensure_ascii=False))
    elif live is not None:
        live.update(Group(Text(report.HEALTH_HEADING), Text(printable(text), style="bold red")), refresh=True)
    else:
        complain(text)


def _show_look(found: MonitorLook, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report.look_json(found), ensure_ascii=False))
    elif sys.stdout.isatty():
        Console().print(_drawn(found))
    else:
        rows = [report.health_row(inspection) for inspection in found.inspections]
        print(f"{report.HEALTH_HEADING}\n\n{markdown_table(report.HEALTH_COLUMNS, rows)}")
        print("".join(f"{printable(line)}\n" for line in _lines_below(found)), end="", flush=True)


def _drawn(found: MonitorLook) -> Group:
    rows = [_coloured(inspection) for inspection in found.inspections]
    table = terminal_table(report.HEALTH_COLUMNS, rows)
    return Group(Text(report.HEALTH_HEADING), table, *(Text(printable(line)) for line in _lines_below(found)))


def _coloured(inspection: Inspection) -> list[str | Text]:
    name, health, *rest = report.health_row(inspection)
    return [name, Text(health, style=report.colour(inspection.finding.health)), *rest]


def _lines_below(found: MonitorLook) -> Iterator[str]:
    yield from (line for text in (found.note, found.trouble) if text for line in ("", text))
    if found.responses:
        yield from ("", "### Alerts")
    for inspection in found.inspections:
        if response := found.responses.get(inspection.agent.name):
            yield report.alert(inspection, response)


def _wake(database: Database, rhythm: Rhythm, name: str, as_json: bool) -> int:
    try:
        well, said = monitor.wake(registry(), database, rhythm, name)
    except RegistryError as error:
        raise click.BadParameter(str(error), param_hint="--wake") from None
    click.echo(json.dumps({"agent": name, "well": well, "said": said})) if as_json else say(said)
    return 0 if well else 1


def _history(database: Database, last: int, agent: str | None, as_json: bool) -> int:
    with database.read() as connection:
        found = events.history(connection, last, agent)
    if as_json:
        click.echo(json.dumps({"events": [report.event_json(event) for event in found]}, ensure_ascii=False))
    else:
        show_table(report.HISTORY_COLUMNS, [report.history_row(event) for event in found])
    return 0
