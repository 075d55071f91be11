"""Text from other programs, made fit to be shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """One printable line: names from other programs may hold newlines and terminal escapes."""
    return "".join(char if char.isprintable() else " " for char in text)
