"""Recorded looks, run again through the same core: what was seen, what would be done, and why.

`recording` reads a moment's directory, `looks` a fixture of several looks, `world` answers the core's commands and
plays their effects, `story` runs looks one after another.
"""
