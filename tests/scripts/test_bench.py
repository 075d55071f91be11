"""What several rounds say of a budget, and that the page has every budget and no other. Nothing here is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "scripts" / "bench"
HERE = BENCH.with_name("bench.d")

MODULE = """{title}
from bench.budget import Budget
BUDGETS = (Budget("what {name} costs", "ms", 2.0, "nothing"),)
figures = iter({figures})
def measure():
    return [BUDGETS[0].measured(next(figures))]
"""
SAY_BUDGETS = """
import json, main
from bench.page import missing
budgets = [one for name in main.names() for one in main.load(name).budgets]
said = {"names": main.names(), "what": [one.what for one in budgets], "missing": missing(budgets, main.PAGE.read_text())}
print(json.dumps(said))
"""


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(HERE)
    import main

    yield main
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`good` keeps its budget, `bad` breaks it, `noisy` is over it in two rounds of three."""
    figures = {"good": [1, 2, 3], "bad": [2.1, 9, 3], "noisy": [1.9, 4, 3]}
    for name, three in figures.items():
        title = f'"""How {name} it is."""'
        (tmp_path / f"{name}.py").write_text(MODULE.format(title=title, name=name, figures=three))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_page_has_every_budget_with_its_limit_and_no_other() -> None:
    said = json.loads(subprocess.check_output([sys.executable, "-c", SAY_BUDGETS], cwd=HERE))
    assert said["missing"] == []
    assert {"process", "readers", "tape", "wakeup"} <= set(said["names"])
    assert len(said["what"]) == len(set(said["what"])) > 20


def test_a_kept_budget_ends_with_0_and_the_middle_round_speaks_for_it(
    main: ModuleType, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["good"], folder, tmp_path / "page.md") == 0
    assert "| what good costs | 2 ms |  | 2 ms | 1 | yes |" in capsys.readouterr().out
    assert not (tmp_path / "page.md").exists()


def test_a_budget_that_is_broken_in_every_round_ends_with_1_and_all_are_shown(
    main: ModuleType, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["--check"], folder, tmp_path / "page.md") == 1
    shown = capsys.readouterr().out
    assert "| what bad costs | 3 ms |  | 2 ms | 1.5 | NO |" in shown
    assert "what good costs" in shown
    assert not (tmp_path / "page.md").exists()


def test_one_that_is_kept_in_some_round_is_within_noise(
    main: ModuleType, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["noisy"], folder, tmp_path / "page.md") == 0
    assert "| 1.5 | within noise |" in capsys.readouterr().out


def test_all_measurements_together_write_the_page(main: ModuleType, folder: Path, tmp_path: Path) -> None:
    from bench.page import missing

    written = tmp_path / "page.md"
    assert main.main([], folder, written) == 1
    budgets = [one for name in main.names(folder) for one in main.load(name).budgets]
    assert missing(budgets, written.read_text()) == []
    assert "## How good it is" in written.read_text()
    assert (
        "Broken: what bad costs.\n\nOver the limit in some rounds: what noisy costs.\n" in written.read_text()
    )
    lacking, foreign = missing(budgets[1:], written.read_text()), missing(budgets, "")
    assert (len(lacking), len(foreign)) == (1, 3)


def test_a_measurement_that_leaves_a_budget_out_is_a_mistake(main: ModuleType, folder: Path) -> None:
    (folder / "good.py").write_text((folder / "good.py").read_text() + "\ndef measure():\n    return []\n")
    with pytest.raises(AssertionError, match="what good costs"):
        main.main(["good"], folder)


@pytest.mark.parametrize(
    ("limit", "times", "beside", "share"),
    [
        (2.0, False, None, 2.0),
        (2.0, False, 5.0, 2.0),
        (2.0, True, 4.0, 0.5),
        (0.0, False, None, float("inf")),
    ],
)
def test_the_share_is_of_the_limit_or_of_so_many_times_what_is_beside_it(
    main: ModuleType, limit: float, times: bool, beside: float | None, share: float
) -> None:
    budget = main.Budget("what", "ms", limit, "nothing", "the bare thing, ms" if beside else "", times)
    assert budget.measured(4.0, beside).share == share
    assert budget.measured(0.0, beside).share == 0


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.0123, "0.0123"),
        (1.149, "1.15"),
        (99.96, "100"),
        (2.5, "2.5"),
        (30.0, "30"),
        (4321.2, "4,321"),
    ],
)
def test_figures_have_three_digits_that_count(main: ModuleType, number: float, text: str) -> None:
    assert main.shown(number) == text


def test_an_unknown_name_is_one_line_that_lists_the_names() -> None:
    ran = subprocess.run([BENCH, "nonsense"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("no measurement is called 'nonsense'; there are: ")
    assert "readers" in ran.stderr
