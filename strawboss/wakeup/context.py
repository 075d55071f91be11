"""What a task needs to be understood, and the prompt made of it (docs/wakeup.md#the-cycle)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from strawboss.wakeup.agents import Agent
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.store import inbox, tasks
from strawboss.wakeup.store.inbox import Message
from strawboss.wakeup.store.tasks import Task

LARGEST_FILE = 1 << 20
LARGEST_CONTEXT = 4 << 20
# A word of a task that may be a file of the workspace: no way up, nothing hidden, nothing a shell would expand.
NAMED = re.compile(r"(?<![\w./~-])\w[\w.-]*(?:/\w[\w.-]*)*(?<![.-])(?![\w/-])")
MOST_NAMED = 32
# A usual rule of thumb; the true number depends on the model.
BYTES_A_TOKEN = 4

HOW_TO = """\
While you work you may run these commands:
  strawboss delegate "TITLE" --body TEXT [--to AGENT] [--needs-capability NAME]   hand a part to somebody else
  strawboss approve --ask "QUESTION"                                              this task waits for a yes
  strawboss task block {task} --reason TEXT                                       you cannot go on
  {beat} --message TEXT
                                                                                  you are at work, though nothing shows it
What you say last is stored as the task's result."""


class ContextError(Exception):
    """A file the task refers to cannot be used; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Understanding:
    """`files` by the name the task gives them; `parents` nearest first; `needed` the tasks this one waited for."""

    files: tuple[tuple[str, str], ...]
    parents: tuple[Task, ...]
    needed: tuple[Task, ...]
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """Roughly what the files cost the model."""
        return sum(len(text.encode()) for _, text in self.files) // BYTES_A_TOKEN


def understand(connection: Connection, task: Task, agent: Agent) -> Understanding:
    """Load everything: the task's files, and those of the workspace that its words name.

    Raises ContextError when one of its files is missing, outside the workspace, too large or no text.
    """
    files = tuple(_files(task.files, agent.directory))
    return Understanding(
        (*files, *_named(task, agent.directory, files)),
        tuple(tasks.chain(connection, task)),
        tuple(tasks.find(connection, need) for need in task.needs),
        tuple(inbox.inbox(connection, agent.name)),
    )


def _files(names: Iterable[str], workspace: Path) -> Iterable[tuple[str, str]]:
    room = LARGEST_CONTEXT
    for name in names:
        text = _text(name, workspace)
        room -= len(text)
        if room < 0:
            raise ContextError(f"the context files are larger than {LARGEST_CONTEXT >> 20} MiB together")
        yield name, text


def _named(task: Task, workspace: Path, known: tuple[tuple[str, str], ...]) -> Iterable[tuple[str, str]]:
    """A word that is no file, or one that cannot be used, is just a word."""
    names = dict.fromkeys(NAMED.findall(f"{task.title}\n{task.body}"))
    files = [name for name in names if name not in dict(known) and _is_file(workspace / name)][:MOST_NAMED]
    room = LARGEST_CONTEXT - sum(len(text) for _, text in known)
    for name in files:
        with suppress(ContextError):
            text = _text(name, workspace)
            room -= len(text)
            if room < 0:
                return
            yield name, text


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a word longer than any name of a file
        return False


def _text(name: str, workspace: Path) -> str:
    path = (workspace / name).resolve()
    if not path.is_relative_to(workspace.resolve()):
        raise ContextError(f"context file {name!r} is outside the workspace")
    if path.exists() and not path.is_file():
        raise ContextError(f"context file {name!r} is not a file")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ContextError(f"context file {name!r}: {error.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise ContextError(f"context file {name!r} is larger than {LARGEST_FILE >> 20} MiB")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ContextError(f"context file {name!r} is not UTF-8 text") from None


def prompt(agent: Agent, task: Task, known: Understanding) -> str:
    """All of it as one text. The system prompt is in it unless the command takes it in an argument of its own."""
    separate = any("{system_prompt}" in part for part in agent.argv)
    return "\n\n".join(section for section in _sections(agent, task, known, separate) if section) + "\n"


def _sections(agent: Agent, task: Task, known: Understanding, separate: bool) -> Iterable[str]:
    yield "" if separate else agent.system_prompt.strip()
    yield f"You are {_described(agent)}. Scope: {agent.scope}. Workspace: {agent.directory}"
    yield f"# Your task, {task.id}: {task.title}\n\n{task.body}".strip()
    yield _listing(
        "What it is part of, nearest first", (f"{one.id}: {one.title}\n{one.body}" for one in known.parents)
    )
    yield _listing(
        "Results it builds on", (f"{one.id}: {one.title}\n{one.result or ''}" for one in known.needed)
    )
    yield _listing("Your messages", (f"from {one.sender}: {one.body}" for one in known.messages))
    yield _listing("Files", (f"{name}\n\n{text}" for name, text in known.files))
    beat = shlex.join(
        ["strawboss", "agent:beat", "--agent", agent.slug, "--scratch-dir", str(record_file(agent).parent)]
    )
    yield HOW_TO.format(task=task.id, beat=beat)


def _described(agent: Agent) -> str:
    return ", ".join(part for part in (agent.name, agent.title, agent.role) if part)


def _listing(heading: str, items: Iterable[str]) -> str:
    listed = [f"## {item.strip()}" for item in items]
    return "\n\n".join([f"# {heading}", *listed]) if listed else ""
