"""What `/strawboss` and the status line show: plain lines, made from the last look."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from strawboss.overview.seen import Seen
from strawboss.pi.protocol import Row
from strawboss.recovery.explain import Explanation
from strawboss.recovery.memory import Look, RunReport
from strawboss.system.printable import printable
from strawboss.tape.words import condition_lines, near, sentence

NAME_LENGTH = 40
LINE_LENGTH = 300
SHOWN = 40  # an old launcher has a thousand runs, nearly all of them settled
SETTLED = "settled"


def status_rows(look: Look, ago: float, told: Iterable[Row] = ()) -> list[Row]:
    """One row a run, the stranded ones first, the settled ones last; `ago`: seconds since the look. `told`: what stands
    before them."""
    runs = sorted(look.runs, key=lambda run: (not run.stranded, run.state == SETTLED, run.run))
    if not runs:
        return [Row(f"strawboss: this session has launched no subagents (looked {ago:.0f} s ago)")]
    rest = [Row(f"… and {len(runs) - SHOWN} more")] if len(runs) > SHOWN else []
    before = list(told)
    return [
        Row(f"strawboss: {_counted(look)} (looked {ago:.0f} s ago)"),
        *([*before, Row(""), Row("RUNS")] if before else []),
        *(Row(run_line(run), run.run) for run in runs[:SHOWN]),
        *rest,
    ]


def overview_rows(seen: Seen, now: float) -> list[Row]:
    """What needs a person, with the command, and what was recovered, as `strawboss status` says it. `now`: epoch seconds."""
    from strawboss.overview.judge import Need, view  # nobody asks in most sessions
    from strawboss.overview.layout import wrapped
    from strawboss.overview.page import needs_and_recoveries

    rows = []
    for block in needs_and_recoveries([view(seen, now)], now):
        command = block.about.command if isinstance(block.about, Need) else ""
        texts = [wrapped(line.text, line.indent, None)[0] for line in block.lines]
        first = Row(texts[0], block.about.run if block.about else "", command)
        rows += [first, *map(Row, texts[1:])]
    return rows


def run_lines(look: Look, run: str, explain: Callable[[str], Explanation]) -> list[str]:
    """One run in plain words, then the conditions that do not hold; for an unknown one, those most like it."""
    report = next((one for one in look.runs if one.run == run), None)
    if report is None:
        found = near(run, (one.run for one in look.runs))
        hint = f"; near it are {', '.join(found)}" if found else ""
        return [f"strawboss: this session has launched no run {printable(run)[:NAME_LENGTH]!r}{hint}"]
    return [
        sentence(report),
        *(f"  {line[:LINE_LENGTH]}" for line in condition_lines(report, explain(run), whole=False)),
    ]


def run_line(run: RunReport) -> str:
    name = printable(run.name)
    name = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
    machine = f"{run.machine}: " if run.machine else ""
    because = f" — {printable(str(run.obstacle))}" if run.obstacle else ""
    return f'{printable(run.run)} "{name}" {machine}{run.state}{because}'[:LINE_LENGTH]


def status_line(look: Look) -> str | None:
    """For pi's footer: only while something is stranded."""
    return f"strawboss: {look.stranded} stranded" if look.stranded else None


def log_facts(runs: Iterable[RunReport]) -> dict[str, str]:
    """Each run's state, without its name: what the log keeps of a look."""
    return {run.run: f"{run.machine or '-'} {run.state}" for run in runs}


def _counted(look: Look) -> str:
    runs = f"{len(look.runs)} run{'s' if len(look.runs) != 1 else ''}"
    return f"{runs}, {look.stranded} stranded" if look.stranded else f"{runs}, none stranded"
