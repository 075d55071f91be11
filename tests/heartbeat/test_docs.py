import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "heartbeat.md").read_text()
HELD = sorted(set(re.findall(r"`(tests/[^\s`:]+)::(\w+)`", PAGE)))
ROWS = re.findall(r"^\| ([!⊗~]) \| (.+) \| (.*) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("file", "test"), HELD)
def test_every_test_the_page_names_exists(file, test):
    assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize(("mark", "rule", "held"), ROWS)
def test_every_rule_names_a_test_or_says_why_no_file_can_show_it(mark, rule, held):
    assert "::test_" in held or held in (
        "the worker's habit",
        "nothing here does",
        "nothing here does either",
    )


def test_the_page_lists_musts_must_nots_and_shoulds():
    assert {mark for mark, _, _ in ROWS} == {"!", "⊗", "~"}
    assert len(ROWS) > 70
