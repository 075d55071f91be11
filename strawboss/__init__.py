"""Recovers stranded subagent runs of pi launchers in herdr."""

__version__ = "0.1.0"
