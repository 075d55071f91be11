"""Looks written down as they are taken, read back, and run again through the same core (docs/tape.md).

Written: `codec` and `delta` make plain data of what the core has, `lines` says what a tape's lines are, `look_lines`
makes those of a look, `writer` keeps them in the files of a `shelf`, `last` keeps what the last look reported.
Read: `reader` gives each `taped_look`, `find` and `history` answer from them. `moment` reads a moment's directory,
`cases` a case of several looks, `look_interface` says what each can be asked; `door` opens all of them.
Run again: `play`, with the answers as they were (`exact`) or with the effects played on a `world`; `save` writes it down.
Told without names: `incident`, by the rules of `redact` and the stand-ins of `standin`.
`words` and `shapes` say it to people and programs.
"""
