from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "scripts" / "bench"
MAIN = BENCH.with_name("bench.d") / "main.py"


@pytest.fixture(scope="module")
def main():
    spec = importlib.util.spec_from_file_location("bench_main", MAIN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text("def measure(): return [('kept', 1.0, 2.0, 0.5)]")
    (tmp_path / "bad.py").write_text("def measure(): return [('missed', 1.1, 2.0, 0.5)]")
    return tmp_path


def test_a_met_budget_ends_with_0_and_shows_its_ratio(
    main, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["good"], folder) == 0
    assert "| kept | 1 | 2 | 0.5 | 0.5 | yes |" in capsys.readouterr().out


def test_a_missed_budget_ends_with_1_and_all_are_measured_without_names(
    main, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([], folder) == 1
    shown = capsys.readouterr().out
    assert "| missed | 1.1 | 2 | 0.55 | 0.5 | NO |" in shown
    assert "kept" in shown


def test_an_unknown_name_is_one_line_that_lists_the_names() -> None:
    ran = subprocess.run([BENCH, "nonsense"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("no measurement is called 'nonsense'; there are: ")
    assert "readers" in ran.stderr
