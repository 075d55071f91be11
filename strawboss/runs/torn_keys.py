"""Which runs a torn key or message of Straw Boss may have named: what is torn costs at most what it may have said.

An entry is cut at any byte (a full disk, a power loss), and the next ones may be glued to it. The key is the first
member of `data`, as it is written; a message names its runs in its details, each of which had a key before.
"""

from __future__ import annotations

import re
from collections.abc import Set

from strawboss.recovery.keys import FOLD, SEEN

KNOWN_KEYS = tuple(FOLD)
ANY = "*"

_MARK = b'"straw-boss"'
_KEY_HEAD, _MESSAGE_HEAD = (
    b'{"type":"%b","customType":"straw-boss"' % kind for kind in (b"custom", b"custom_message")
)
_PART = re.compile(rb'\0+|(?=\{"type":")')
_OTHER_TYPE = re.compile(rb'\{"type":"(?!custom"|custom_message")[^"]*"')
_FIRST_MEMBER = re.compile(rb'"data":\{"(\w*)("?):?"?([0-9A-Za-z-]*)("?)')
_RUNS = re.compile(rb'"runs":\[((?:"[0-9A-Za-z-]*",?)*)\]')


def runs_in(fragment: bytes, acted: Set[str]) -> set[str]:
    """Ids, beginnings of ids with `*` after them, or `*` alone. `acted`: the runs with a key other than `seen` so far."""
    named = (_named(part, acted) for part in _PART.split(fragment))
    return set().union(*named)


def _named(part: bytes, acted: Set[str]) -> Set[str]:
    if not part or _OTHER_TYPE.match(part):
        return set()
    if part.startswith(_MESSAGE_HEAD) or (_MESSAGE_HEAD.startswith(part) and not _KEY_HEAD.startswith(part)):
        return _of_message(part, acted)
    return _of_key(part) if _MARK in part or _KEY_HEAD.startswith(part) else set()


def _of_message(part: bytes, acted: Set[str]) -> Set[str]:
    runs = _RUNS.search(part)
    return {run.decode() for run in re.findall(rb'"([^"]*)"', runs[1])} if runs else acted


def _of_key(part: bytes) -> Set[str]:
    member = _FIRST_MEMBER.search(part)
    if member is None:
        return {ANY}
    name, named, run, ended = (text.decode() for text in member.groups())
    keys = {key for key in KNOWN_KEYS if (key == name if named else key.startswith(name))}
    if keys == {SEEN}:
        return set()
    if not keys:
        return {ANY}
    return {run if ended else run + ANY}
