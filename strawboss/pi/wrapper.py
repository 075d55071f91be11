"""A `pi` on PATH that is a version manager's shim and stays in the foreground beside the pi it starts.

A pane is only acted on while exactly one pi is in its foreground, so behind such a shim nothing ever is.
"""

from __future__ import annotations

import re
from pathlib import Path

LIMIT = 256 * 1024
PACKAGE = "pi-coding-agent"
STAYING_SHIMS = frozenset({"volta-shim"})  # programs that start the real one as their child
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
RUNTIMES = frozenset({"node", "bun", "deno"})

_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
# In a shell `exec` with nothing but redirections replaces nothing.
_SHELL_EXEC = re.compile(r"(?:^|[\s;&|({])exec\s+(?!\d*[<>])\S", re.MULTILINE)
_OTHER_EXEC = re.compile(r"\bexec(?:[vl]p?e?)?\b")


def stays_in_front(command: Path) -> str:
    """What would stay ("a bash script that …"), judged by the file; empty where nothing says so. Raises OSError."""
    program = command.resolve()
    if program.name in STAYING_SHIMS:
        return f"{program.name}, which starts the real pi as its child"
    with program.open("rb") as file:
        text = file.read(LIMIT).decode(errors="replace")
    interpreter = _interpreter(text)
    if not interpreter or PACKAGE in program.parts:
        return ""
    return "" if _hands_over(interpreter, text) else f"a {interpreter} script that starts pi without exec"


def _interpreter(text: str) -> str:
    """`bash` of `#!/usr/bin/env -S bash -e`; empty for a program that is no script."""
    words = text.partition("\n")[0].removeprefix("#!").split() if text.startswith("#!") else []
    names = [Path(word).name for word in words if not word.startswith("-") and "=" not in word]
    return next((name for name in names if name != "env"), "")


def _hands_over(interpreter: str, text: str) -> bool:
    code = _COMMENT.sub("", text)
    if interpreter in SHELLS:
        return _SHELL_EXEC.search(code) is not None
    if interpreter in RUNTIMES:  # perhaps pi itself, in one file
        return "child_process" not in code or "execve" in code or len(text) >= LIMIT
    return _OTHER_EXEC.search(code) is not None
