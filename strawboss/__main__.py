"""`python -m strawboss …`: how the extension starts the process, whatever is on PATH."""

from strawboss.cli.main import main

main()
