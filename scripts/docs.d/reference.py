"""The reference of the command line, from the commands themselves: a Markdown page and a man page.

Both are made from the same pages, one a command: nothing here knows a command by name.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import click
import picture
from machines import page

from strawboss.cli.help import summary
from strawboss.cli.main import SECTIONS, strawboss

DOCS = Path(__file__).resolve().parents[2] / "docs"

INTRODUCTION = (
    "Three tools for the same people. **Recovery** gets the results of stranded subagent runs back; **workers** write"
    " heartbeats (package `heartbeat`); **agents** wake up to do tasks (package `wakeup`)."
)
# The same of every command; what else a code means is said with the command.
EXIT_CODES = (
    ("0", "done, or the answer is yes"),
    ("1", "the answer is no, or something is to be done by a person; the command says what"),
    ("2", "bad use or bad input: one line on stderr says what is wrong and what to write instead"),
    ("130", "interrupted"),
    ("141", "whoever read the output has left"),
)
VARIABLES = (
    ("NO_COLOR", "set to anything: no colour, also in a terminal"),
    ("STRAWBOSS_STATE_DIR", "where logs, locks, tapes and the store are kept"),
    ("STRAWBOSS_CONFIG_DIR", "where config.yaml and the registry of agents are"),
)
OUTPUT = (
    "What a command prints for people is drawn in a terminal and is Markdown or plain lines in a pipe. With `--json` it"
    " is one JSON object, or one a line. The schema of `strawboss status --json` is `strawboss/overview/status.json`;"
    " those of the workers' commands, and of the records that they share, are in `strawboss/heartbeat/schema`."
)


@dataclass(frozen=True, slots=True)
class Page:
    """One command. `options`: how each is written, and what it does."""

    name: str
    usage: str
    short: str
    text: str
    options: tuple[tuple[str, str], ...]


def pages_of(command: click.Command, context: click.Context) -> Iterator[Page]:
    """The command's own page, then those of the commands in it; hidden ones have none."""
    if command.hidden:
        return
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    records = (parameter.get_help_record(context) for parameter in command.params)
    options = tuple(record for record in records if record and record[0].startswith("-"))
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    yield Page(context.command_path, usage, summary(command), text, options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from pages_below(command, name, context)


def pages_below(group: click.Group, name: str, context: click.Context) -> Iterator[Page]:
    command = group.get_command(context, name)
    assert command is not None
    yield from pages_of(command, command.context_class(command, info_name=name, parent=context))


def sections() -> Iterator[tuple[str, list[Page]]]:
    root = click.Context(strawboss, info_name="strawboss")
    for title, names in SECTIONS.items():
        yield title, [page for name in names for page in pages_below(strawboss, name, root)]


# -- Markdown --------------------------------------------------------------------------------------------------


def markdown() -> str:
    parts = [
        "# The command line",
        "Made by `scripts/docs` from the commands: change them, then run it.",
        INTRODUCTION,
    ]
    parts += [contents(title, pages) for title, pages in sections()]
    parts += ["## Exit codes", table(("code", "meaning"), EXIT_CODES)]
    parts += ["## Environment", table(("variable", "meaning"), VARIABLES), "## Output", OUTPUT]
    for title, pages in sections():
        parts += [f"## {title}", *map(markdown_of, pages)]
    return "\n\n".join(parts) + "\n"


def contents(title: str, pages: list[Page]) -> str:
    rows = [(f"[`{page.name}`](#{anchor(page.name)})", page.short) for page in pages]
    return table((title, ""), rows)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def markdown_of(page: Page) -> str:
    parts = [f"### {page.name}", f"```\n{page.usage}\n```", page.text]
    if page.options:
        parts.append(table(("option", ""), [(f"`{written}`", says) for written, says in page.options]))
    return "\n\n".join(parts)


def table(heading: tuple[str, str], rows: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> str:
    lines = [heading, ("---", "---"), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# -- man -------------------------------------------------------------------------------------------------------


def man() -> str:
    lines = [f'.TH STRAWBOSS 1 "" "strawboss {version("strawboss")}" "User commands"', ".SH NAME"]
    lines += [
        roff("strawboss - " + summary(strawboss)),
        ".SH SYNOPSIS",
        roff("strawboss COMMAND [OPTIONS] [ARGS]..."),
    ]
    lines += [".SH DESCRIPTION", roff(plain(INTRODUCTION)), ".PP", roff(plain(OUTPUT))]
    for title, pages in sections():
        lines += [f".SH {roff(title.upper())}", *(line for page in pages for line in man_of(page))]
    lines += [".SH EXIT STATUS", *tagged(EXIT_CODES), ".SH ENVIRONMENT", *tagged(VARIABLES)]
    return "\n".join(lines) + "\n"


def man_of(page: Page) -> Iterator[str]:
    yield from (f".SS {roff(page.name)}", f".B {roff(page.usage)}")
    for paragraph in page.text.split("\n\n"):
        yield from (".PP", roff(" ".join(plain(paragraph).split())))
    yield from tagged(page.options)


def tagged(rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for written, says in rows:
        yield from (".TP", f".B {roff(written)}", roff(" ".join(says.split())))


def plain(text: str) -> str:
    return text.replace("**", "").replace("`", "")


def roff(text: str) -> str:
    """Text as it is: a backslash, a hyphen, and a point or quote that begins a line mean nothing."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


# -- files -----------------------------------------------------------------------------------------------------


def made() -> dict[Path, str]:
    machines = DOCS / "state-machines.md"
    return {
        DOCS / "cli.md": markdown(),
        DOCS / "strawboss.1": man(),
        machines: page(machines.read_text("utf-8")),
        DOCS / "status.svg": picture.svg(),
    }


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("scripts/docs takes --check or nothing", file=sys.stderr)
        return 2
    stale = {
        file: text for file, text in made().items() if not file.exists() or file.read_text("utf-8") != text
    }
    for file, text in stale.items():
        if arguments:
            print(f"{file} is not up to date: run scripts/docs", file=sys.stderr)
        else:
            file.write_text(text, encoding="utf-8")
    return int(bool(arguments and stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
