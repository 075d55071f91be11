"""What the last look of every launcher of this user reported, without reading a tape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from strawboss.overview.seen import Reports
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.memory import RunReport
from strawboss.tape.lines import decode, encode
from strawboss.tape.shelf import LAST, newest_segment

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LastLook:
    """`looked_at`: epoch seconds; a look that saw nothing new counts. `session`: the directory of its tape."""

    session: Path
    launcher: Launcher
    runs: Reports
    looked_at: float


class _Written(msgspec.Struct):
    """The first line. `runs`: those that are not settled; so many `settled` ones are on the second line."""

    launcher: Launcher
    runs: tuple[RunReport, ...]
    settled: int = 0


_decoder = msgspec.json.Decoder(_Written)
_settled_decoder = msgspec.json.Decoder(tuple[RunReport, ...])


def encode_last(launcher: Launcher, runs: Sequence[RunReport]) -> bytes:
    reports = Reports.of(runs)
    settled = reports[len(reports.open) :]
    return encode(_Written(launcher, tuple(reports.open), reports.settled)) + encode(settled)


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
        first, _, second = (session / LAST).read_bytes().partition(b"\n")
        written = _decode(first, _decoder)
        looked_at = (segment or session / LAST).stat().st_mtime
    except (OSError, ValueError):
        return None
    reports = Reports(written.runs, written.settled, lambda: _settled(second))
    return LastLook(session, written.launcher, reports, looked_at)


def _settled(line: bytes) -> tuple[RunReport, ...]:
    try:
        return _decode(line, _settled_decoder)
    except ValueError:
        return ()


def _decode(content: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Raises ValueError. A name that is no UTF-8 takes the longer way."""
    try:
        return decoder.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        converted: T = msgspec.convert(decode(content), decoder.type)
        return converted
