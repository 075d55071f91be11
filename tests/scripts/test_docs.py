"""The pages of the command line are those of the commands as they are, the picture of status what status prints."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from importlib.metadata import files
from pathlib import Path
from types import ModuleType

import pytest

from strawboss.cli.status import page_lines
from strawboss.overview.layout import Colour

SCRIPT = Path(__file__).parents[2] / "scripts" / "docs.d" / "reference.py"


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("reference", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "reference", module)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_page_that_is_not_is_named_and_then_written(
    reference: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "DOCS", tmp_path)
    (tmp_path / "cli.md").write_text("old")
    (tmp_path / "state-machines.md").write_text("## nudge")
    assert reference.main(["--check"]) == 1
    err = capsys.readouterr().err
    assert "cli.md is not up to date: run scripts/docs" in err
    assert "strawboss.1" in err
    assert "status.svg" in err
    assert (tmp_path / "cli.md").read_text() == "old"
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0


def test_every_link_leads_to_a_heading(reference: ModuleType) -> None:
    page = reference.markdown()
    links = {part.split(")")[0] for part in page.split("](#")[1:]}
    headings = {reference.anchor(line.lstrip("# ")) for line in page.splitlines() if line.startswith("#")}
    assert links
    assert links <= headings


def test_every_file_that_is_named_is_there(reference: ModuleType) -> None:
    named = re.findall(r"`(strawboss/[^ `]+)`", reference.markdown())
    assert "strawboss/overview/status.json" in named
    assert [name for name in named if not (SCRIPT.parents[2] / name).exists()] == []


def test_the_man_page_is_installed_with_the_package() -> None:
    installed = [Path(file.locate()) for file in files("strawboss") or () if file.name == "strawboss.1"]
    assert [file.parts[-4:] for file in installed] == [("share", "man", "man1", "strawboss.1")]
    assert installed[0].exists()


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_the_man_page_is_understood_by_its_formatter() -> None:
    page = SCRIPT.parents[2] / "docs" / "strawboss.1"
    done = subprocess.run(["groff", "-Kutf8", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "strawboss status" in done.stdout


@pytest.mark.parametrize(
    ("text", "written"), [("-a\\b", "\\-a\\eb"), (".SH x", "\\&.SH x"), ("'x", "\\&'x"), ("plain", "plain")]
)
def test_nothing_in_a_text_is_an_instruction_to_man(reference: ModuleType, text: str, written: str) -> None:
    assert reference.roff(text) == written


@pytest.fixture
def machines(reference: ModuleType) -> ModuleType:
    return sys.modules["machines"]


def test_every_number_that_decides_says_what_it_counts(machines: ModuleType) -> None:
    numbers = list(machines.numbers())
    assert {"LAST_MISS", "REACH_LOOKS", "LOOK_SECONDS", "SILENT_LOOKS"} <= {name for name, *_ in numbers}
    assert [name for name, _, what, _ in numbers if not what] == []


def test_a_picture_and_the_numbers_that_are_old_are_replaced_and_nothing_else(machines: ModuleType) -> None:
    page = SCRIPT.parents[2].joinpath("docs", "state-machines.md").read_text()
    old = page.replace("FOUND_TWICE: found so", "FOUND_TWICE: seen").replace("| `LAST_MISS` |", "| `LAST` |")
    assert old != page
    assert machines.page(old) == page


@pytest.fixture
def picture(reference: ModuleType) -> ModuleType:
    return sys.modules["picture"]


def texts(picture: ModuleType) -> list[ElementTree.Element]:
    return ElementTree.fromstring(picture.svg()).findall("{http://www.w3.org/2000/svg}text")


def test_the_picture_says_what_status_prints(picture: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: picture.NOW)
    with picture.in_zone("UTC"):
        printed = [line.strip() for line in page_lines(picture.views()) if line]
    assert [text.text for text in texts(picture)] == printed


def test_the_picture_shows_every_meaning_there_is_a_colour_for(picture: ModuleType) -> None:
    assert {text.attrib["class"] for text in texts(picture)} == {colour.name for colour in Colour}
    assert set(picture.STYLES) == set(Colour)


def test_no_line_of_the_picture_is_wider_than_its_terminal(picture: ModuleType) -> None:
    assert max(len(text) for text, _ in picture.rows()) <= picture.WIDTH


def test_the_picture_is_the_same_wherever_and_whenever_it_is_drawn(
    picture: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = picture.svg()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    with picture.in_zone("Asia/Tokyo"):
        assert picture.svg() == here
        assert time.strftime("%H", time.localtime(0)) == "09"


def test_the_picture_asks_nobody_for_a_font_or_anything_else(picture: ModuleType) -> None:
    assert re.findall(r"https?://[^\"]+", picture.svg()) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"@import|url\(|href", picture.svg())
