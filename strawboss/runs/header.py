"""The first line of a session file."""

from __future__ import annotations

from io import FileIO

import msgspec

from strawboss.recovery.verdict import Unknown

LIMIT = 64 * 1024
TREE_VERSIONS = frozenset({2, 3})  # version 1 has no ids; pi rewrites the file when it opens one


class Header(msgspec.Struct, tag_field="type", tag="session", rename="camel"):
    """`parent_session`: the session file this one is a fork or clone of, as written."""

    id: str
    version: int = 1
    cwd: str = ""
    parent_session: object = None


_decoder = msgspec.json.Decoder(Header)


def read_session_id(file: FileIO) -> str | Unknown:
    """The session id in the header line; leaves the file positioned anywhere. Raises OSError."""
    header = read_header(file)
    return header if isinstance(header, Unknown) else header.id


def read_header(file: FileIO) -> Header | Unknown:
    """Unknown where pi would not open the file, or its version is not read here. As `read_session_id` otherwise."""
    file.seek(0)
    line = (file.read(LIMIT) or b"").partition(b"\n")[0]
    try:
        header = _decoder.decode(line)
    except (ValueError, RecursionError):
        return Unknown("does not begin with a session header")
    if header.version not in TREE_VERSIONS or not header.id:
        return Unknown(f"is a session of version {header.version}, which is not read here")
    return header
