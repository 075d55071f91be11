"""`strawboss …` and `python -m strawboss …`: how the extension starts the process, whatever is on PATH."""

from __future__ import annotations

import sys


def main() -> None:
    """Run one command and leave with its exit code. The process inside pi does not pay for the command line."""
    if sys.argv[1:] == ["run"]:
        from strawboss.cli.run import run

        sys.exit(run())
    from strawboss.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
