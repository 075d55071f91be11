"""Runs the measurements beside this file, some rounds of each, and shows them beside their limits.

A measurement is a module here with a first line that is its title, `BUDGETS`, and `measure()`, which gives one round:
what was `measured` for each of them, in their order. What measurements share lies in `bench/`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.budget import Budget, Measured, Result, Verdict, results, shown
from bench.page import page

from strawboss.cli.tables import show_table

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "performance.md"
ROUNDS = 3
COLUMNS = ("what", "measured", "beside it", "limit", "of the limit", "ok")


@dataclass(frozen=True, slots=True)
class Measurement:
    name: str
    title: str
    budgets: Sequence[Budget]
    measure: Callable[[], Iterable[Measured]]


def names(folder: Path = HERE) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "main")


def load(name: str) -> Measurement:
    module = importlib.import_module(name)
    title = (module.__doc__ or name).splitlines()[0].rstrip(".")
    return Measurement(name, title, module.BUDGETS, module.measure)


def take(measurements: Sequence[Measurement], rounds: int = ROUNDS) -> list[tuple[str, list[Result]]]:
    """All rounds: one of each measurement, then the next, so that a busy minute does not fall on one of them alone."""
    taken: dict[str, list[list[Measured]]] = {one.name: [] for one in measurements}
    for number in range(rounds):
        for one in measurements:
            print(f"round {number + 1} of {rounds}: {one.name}", file=sys.stderr)
            taken[one.name].append(list(one.measure()))
    return [(one.title, results(one.budgets, taken[one.name])) for one in measurements]


def row(result: Result) -> tuple[str, ...]:
    budget, middle = result.budget, result.middle
    beside = "" if middle.beside is None else shown(middle.beside)
    figures = (f"{shown(middle.ours)} {budget.unit}", beside, budget.limit_text, shown(middle.share))
    return (budget.what, *figures, result.verdict.value)


def main(arguments: list[str], folder: Path = HERE, written: Path = PAGE) -> int:
    known = names(folder)
    parser = argparse.ArgumentParser(
        "scripts/bench", description="Measure the budgets, write docs/performance.md."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; end with 1 where a budget is broken"
    )
    parser.add_argument("names", nargs="*", help=f"only these, and write nothing: {', '.join(known)}")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in known]
    if unknown:
        print(f"no measurement is called {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed strawboss has its byte code
    sections = take([load(name) for name in asked.names or known])
    found = [result for _, of_one in sections for result in of_one]
    show_table(COLUMNS, [row(result) for result in found])
    if not asked.check and not asked.names:
        written.write_text(page(sections, ROUNDS))
    return int(any(result.verdict is Verdict.BROKEN for result in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
