"""Tables show what other programs wrote as data: nothing in a cell draws, links or adds a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from strawboss.cli.tables import markdown_table, terminal_table
from strawboss.system.printable import printable


@given(st.text())
def test_a_cell_is_one_printable_line(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text).splitlines()) <= 1


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_a_markdown_table_has_one_line_a_row_and_as_many_columns(rows: list[tuple[str, str]]) -> None:
    lines = markdown_table(("a", "b"), rows).split("\n")
    assert len(lines) == 2 + len(rows)
    assert all(line.replace("\\|", "").count("|") == 3 for line in lines)


def test_markup_in_a_cell_is_text() -> None:
    console = Console(width=60, force_terminal=True)
    with console.capture() as capture:
        console.print(terminal_table(("name",), [("[link=http://x]\x1b[2J[/link]",)]))
    assert "[link=http://x]" in capture.get()
    assert "\x1b[2J" not in capture.get()
