from __future__ import annotations

from collections.abc import Generator

import pytest
from playbook import Playbook, never_run

from strawboss.recovery.commands import ListPanes, ListSessions, ReadRun


def asking() -> Generator[ListPanes | ReadRun, str, str]:
    first = yield ListPanes()
    second = yield ReadRun("a")
    return f"{first} {second}"


def test_a_script_that_fits_ends_with_the_result() -> None:
    book = Playbook(asking()).asks(ListPanes(), "one").asks(lambda command: command.run == "a", "two")
    assert book.ends("one two") == "one two"


def test_a_type_stands_for_any_command_of_it() -> None:
    assert Playbook(asking()).asks(ListPanes, 1).asks(ReadRun, 2).ends() == "1 2"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ([ListSessions()], "instead of"),
        ([ListPanes()], "goes on with"),
        ([ListPanes(), ReadRun("b")], "instead of"),
        ([ListPanes(), ReadRun("a"), ListPanes()], "never asked"),
    ],
)
def test_a_script_that_does_not_fit_fails(script: list[object], complaint: str) -> None:
    book = Playbook(asking())
    for command in script:
        book.asks(command)
    with pytest.raises(AssertionError, match=complaint):
        book.ends()


def test_another_result_fails() -> None:
    with pytest.raises(AssertionError, match="one two"):
        Playbook(asking()).asks(ListPanes, "one").asks(ReadRun, "two").ends("three")


def test_a_script_that_was_written_and_never_run_is_known() -> None:
    never_run()
    book = Playbook(asking()).asks(ListPanes())
    assert never_run() == [book]
    assert never_run() == []
