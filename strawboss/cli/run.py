"""`strawboss run`: the process inside pi. The extension starts it; a person has no use for it.

It is no click command: the resident process keeps whatever is imported on the way to it.
"""

from __future__ import annotations

import os
import sys

from strawboss.resident.process import run as run_process

COMPLAINT = "strawboss run: the extension inside pi starts this; run `strawboss install` and then pi"


def run() -> int:
    """Work for the pi session at the other end of stdin and stdout; the exit code, 2 where there is a person instead."""
    if sys.stdin.isatty() or sys.stdout.isatty():
        print(COMPLAINT, file=sys.stderr)
        return 2
    # Whatever else prints must not reach the extension's pipe.
    stdout = os.dup(1)
    os.dup2(2, 1)
    return run_process(os.environ, 0, stdout)
