"""docs/performance.md: each figure beside its limit, how it was measured, and what bounds it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import date

from bench.budget import Budget, Result, Verdict, shown

NUMBERS = {1: "one core", 2: "two cores", 4: "four cores", 8: "eight cores"}
HEAD = "| what | measured | beside it | limit | of the limit | what bounds it |"
BUSY = 0.5  # processes that wait for each core, from which on the machine counts as busy

INTRODUCTION = """\
# What strawboss costs

`scripts/bench` measures every budget and writes this page; `scripts/bench --check` only tells, and ends with 1 where a
budget is broken. `scripts/bench process tape` measures those alone.

Measured on {date}: {machine}.

- Each figure is the middle one of {rounds} rounds. In a round, what is compared is taken in turns, many times, and the
  median of the pairs counts; costs are the processor's time, so that what else runs on the machine counts little.
- *of the limit* is the part of the limit that is used: 1 is all of it. A budget is broken when more than 1 is used in
  every round; over 1 in some of them is noise.
- A limit with × is so many times what is measured beside it in the same round: that holds on any machine. The others
  are what people notice, and stand for a machine like this one.
"""


def page(sections: Iterable[tuple[str, Sequence[Result]]], rounds: int) -> str:
    """The whole page; a section is a measurement's title and its results."""
    taken = list(sections)
    introduction = INTRODUCTION.format(date=date.today().isoformat(), machine=machine(), rounds=rounds)
    over = over_their_limits([result for _, found in taken for result in found])
    return "\n".join([introduction, over, *(section(title, found) for title, found in taken)])


def over_their_limits(found: Sequence[Result]) -> str:
    """What a reader must not have to look for."""
    said = {Verdict.BROKEN: "Broken", Verdict.NOISE: "Over the limit in some rounds"}
    over = {verdict: [one.budget.what for one in found if one.verdict is verdict] for verdict in said}
    lines = [f"{said[verdict]}: {'; '.join(whats)}." for verdict, whats in over.items() if whats]
    return "\n\n".join(lines or ["Every budget is kept."]) + "\n"


def section(title: str, found: Sequence[Result]) -> str:
    rule = "|" + "---|" * HEAD.count(" | ") + "---|"
    return "\n".join([f"## {title}", "", HEAD, rule, *map(row, found), ""])


def row(result: Result) -> str:
    budget, middle = result.budget, result.middle
    beside = f"{budget.beside}: {shown(middle.beside)}" if middle.beside is not None else ""
    cells = (
        budget.what,
        f"{shown(middle.ours)} {budget.unit}",
        beside,
        budget.limit_text,
        shown(middle.share),
    )
    return f"| {' | '.join((*cells, budget.bound))} |"


def missing(budgets: Iterable[Budget], content: str) -> list[str]:
    """Where the page and the budgets do not agree: what it lacks, and what it has that is no budget."""
    written = [_named(line) for line in content.splitlines() if line.startswith("| ") and line != HEAD]
    wanted = [(budget.what, budget.limit_text, budget.bound) for budget in budgets]
    lacking = [f"it lacks {one}" for one in wanted if one not in written]
    return lacking + [f"no budget is {one}" for one in written if one not in wanted]


def _named(line: str) -> tuple[str, str, str]:
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    return cells[0], cells[3], cells[5]


def machine() -> str:
    cores = os.cpu_count() or 1
    busy = os.getloadavg()[0] / cores
    also = f", busy with other work (load {os.getloadavg()[0]:.1f})" if busy > BUSY else ""
    kind = f"{platform.system()} on {platform.machine()}, Python {platform.python_version()}"
    return f"{NUMBERS.get(cores, f'{cores} cores')}, {kind}{also}"
