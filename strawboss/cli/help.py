"""How groups of commands show themselves: in sections, each line whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import click

CLAUSE_END = re.compile(r"[.;:](?=\s|$)")


class Group(click.Group):
    """A group whose help cuts no line off. Every group of strawboss is one."""

    def sections(self) -> Mapping[str, Iterable[str]]:
        """Title → names of commands, in the order in which they are shown."""
        return {"Commands": sorted(self.commands)}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = {title: self._rows(ctx, names) for title, names in self.sections().items()}
        width = max((len(name) for rows in shown.values() for name, _ in rows), default=0)
        for title, rows in shown.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), says) for name, says in rows])

    def _rows(self, ctx: click.Context, names: Iterable[str]) -> list[tuple[str, str]]:
        found = ((name, self.get_command(ctx, name)) for name in names)
        return [(name, summary(command)) for name, command in found if command and not command.hidden]


def summary(command: click.Command) -> str:
    """The first clause of its help."""
    text = " ".join((command.help or "").split())
    return CLAUSE_END.split(text, maxsplit=1)[0]
