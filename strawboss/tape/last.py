"""What the last look of every launcher of this user reported, without reading a tape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from strawboss.recovery.evidence import Launcher
from strawboss.recovery.memory import RunReport
from strawboss.tape.lines import decode, encode
from strawboss.tape.shelf import LAST, newest_segment


@dataclass(frozen=True, slots=True)
class LastLook:
    """`looked_at`: epoch seconds; a look that saw nothing new counts. `session`: the directory of its tape."""

    session: Path
    launcher: Launcher
    runs: tuple[RunReport, ...]
    looked_at: float


class _Written(msgspec.Struct):
    launcher: Launcher
    runs: tuple[RunReport, ...]


_decoder = msgspec.json.Decoder(_Written)


def encode_last(launcher: Launcher, runs: tuple[RunReport, ...]) -> bytes:
    return encode(_Written(launcher, runs))


def last_looks(shelf: Path) -> Iterator[LastLook]:
    """One for each session whose last look can be read."""
    for session in sorted(shelf.glob("*")):
        look = last_look(session)
        if look is not None:
            yield look


def last_look(session: Path) -> LastLook | None:
    """None where no tape is, or another version wrote what cannot be understood here."""
    segment = newest_segment(session)
    try:
        written = _decode((session / LAST).read_bytes())
        looked_at = (segment or session / LAST).stat().st_mtime
    except (OSError, ValueError):
        return None
    return LastLook(session, written.launcher, written.runs, looked_at)


def _decode(content: bytes) -> _Written:
    """Raises ValueError. A name that is no UTF-8 takes the longer way."""
    try:
        return _decoder.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return msgspec.convert(decode(content), _Written)
