"""Runs the measurements beside this file and prints one table; ends with 1 when a budget is missed.

A measurement is a module with `measure() -> list[(what, ours, baseline, budget)]`: two numbers of one unit and the
largest ratio `ours / baseline` that is allowed. An absolute budget has the stated number as its baseline.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from strawboss.cli.tables import show_table

HERE = Path(__file__).parent


class Measured(NamedTuple):
    what: str
    ours: float
    baseline: float
    budget: float

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline

    @property
    def met(self) -> bool:
        return self.ratio <= self.budget

    def row(self) -> tuple[str, ...]:
        numbers = (self.ours, self.baseline, self.ratio, self.budget)
        return (self.what, *(f"{number:,.3g}" for number in numbers), "yes" if self.met else "NO")


def measurements(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.py")) if path.stem != "main"}


def load(path: Path) -> Callable[[], Iterable[tuple[str, float, float, float]]]:
    spec = importlib.util.spec_from_file_location(f"bench_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.measure


def main(names: list[str], folder: Path = HERE) -> int:
    known = measurements(folder)
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no measurement is called {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    measured = [Measured(*each) for name in names or known for each in load(known[name])()]
    show_table(("what", "ours", "baseline", "ratio", "budget", "ok"), [each.row() for each in measured])
    return 0 if all(each.met for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
