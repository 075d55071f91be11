"""Help is in sections, and no line of it is cut off."""

from __future__ import annotations

import click
import pytest

from strawboss.cli.help import Group, summary
from strawboss.cli.main import COMMANDS, SECTIONS, main, strawboss


def groups() -> list[str]:
    context = click.Context(strawboss)
    found = {name: strawboss.get_command(context, name) for name in COMMANDS}
    return [name for name, command in found.items() if isinstance(command, click.Group)]


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert (ended.value.code, err) == (0, "")
    return out


@pytest.mark.parametrize("name", ["", *groups()])
def test_a_bare_group_prints_its_help_and_is_content(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    bare = printed(name.split(), capsys)
    assert bare == printed([*name.split(), "--help"], capsys)
    assert bare.startswith(f"Usage: strawboss {name}".rstrip())


def test_every_command_stands_in_its_section_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed([], capsys).splitlines()
    assert all(len(line) < 80 for line in lines)
    context, at = click.Context(strawboss), 0
    for section, names in SECTIONS.items():
        at = lines.index(f"{section}:", at)
        commands = [strawboss.get_command(context, name) for name in names]
        for command, name in zip(commands, names, strict=True):
            assert command is not None
            if not command.hidden:
                at += 1
                assert lines[at].split(maxsplit=1) == [name, summary(command)]


@pytest.mark.parametrize("name", groups())
def test_every_group_is_one_of_ours(name: str) -> None:
    assert isinstance(strawboss.get_command(click.Context(strawboss), name), Group)


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("Do it. And more.", "Do it"),
        ("Do it: so or so.", "Do it"),
        ("Do it; prints how.", "Do it"),
        ("Read `a.b` and\nc", "Read `a.b` and c"),
    ],
)
def test_a_summary_is_the_first_clause(said: str, short: str) -> None:
    assert summary(click.Command("x", help=said)) == short
