"""`strawboss …` and `python -m strawboss …`: how the extension starts the process, whatever is on PATH."""

from __future__ import annotations

import gc
import sys

# New objects before rubbish is looked for: a short command is done before, a long one still stays small.
COLLECT_AFTER = 50_000


def main() -> None:
    """Run one command and leave with its exit code. The process inside pi does not pay for the command line."""
    if sys.argv[1:] == ["run"]:
        from strawboss.cli.run import run

        sys.exit(run())
    gc.set_threshold(COLLECT_AFTER)
    from strawboss.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
