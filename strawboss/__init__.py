"""Recovers stranded subagent runs of pi launchers in herdr."""
