"""Recorded looks, run again through the same core: what was seen, what would be done, and why.

`recording` reads a moment's directory, `cases` a case of several looks, `world` answers the core's commands and
plays their effects, `play` runs looks one after another.
"""
