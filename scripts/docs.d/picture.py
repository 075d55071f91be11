"""docs/status.svg: what `strawboss status` shows in a terminal of 80 columns on the morning after a restart of herdr.

Recorded moments are run through the core as `strawboss replay` does, and what comes of them through the page that
`status` prints. Nothing is asked of the machine that draws it: the time, its zone and the width are given.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

from strawboss.overview.judge import View, view, written_at
from strawboss.overview.layout import Colour, wrapped
from strawboss.overview.page import page
from strawboss.overview.seen import Reports, Seen, Watch
from strawboss.recovery.evidence import KeyEntry, Transcript
from strawboss.recovery.settings import Beyond, Settings
from strawboss.recovery.verdict import Unknown
from strawboss.survey.bring_back import bring_back
from strawboss.tape.door import open_looks
from strawboss.tape.play import play

RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "recorded"
AGENT_DIRECTORY = {"PI_CODING_AGENT_DIR": "/home/user/.pi/agent"}  # of the machine that was recorded
NOW = datetime(2026, 12, 3, 7, 30, tzinfo=UTC).timestamp()
LOOKED_AT = NOW - 9
WIDTH = 80  # columns

# In pixels.
COLUMN, ROW, MARGIN, FONT = 8.4, 19, 16, 14
CHARS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
STYLES = {
    Colour.PLAIN: "fill:#d4d7dd",
    Colour.TITLE: "fill:#ffffff;font-weight:bold",
    Colour.NEEDS: "fill:#ff7b72;font-weight:bold",
    Colour.DONE: "fill:#7ee787",
    Colour.UNDER_WAY: "fill:#e3b341",
    Colour.QUIET: "fill:#8b949e",
    Colour.COMMAND: "fill:#76e3ea",
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A launcher, by a name for it, and the recorded moments that are looked at. `ago`: how many seconds ago the first
    was."""

    name: str
    moments: tuple[str, ...]
    watch: Watch
    ago: float


SCENES = (
    Scene("search", ("second/1-before",), Watch.CLOSED, 26 * 3600),
    Scene("api", ("restart/1-before", *["restart/3-after-10s"] * 2), Watch.LOOKING, 4.3 * 3600),
    Scene("billing", ("nudge/1-before", "nudge/4-eta-finished"), Watch.LOOKING, 24),
    Scene("manual", ("restart/1-before",), Watch.LOOKING, 9),
)

# -- what there is to show -------------------------------------------------------------------------------------


def views() -> list[View]:
    return [view(seen(scene), NOW) for scene in SCENES]


def seen(scene: Scene) -> Seen:
    looks = [look for moment in scene.moments for look in open_looks(RECORDED / moment, None, None)]
    story, world = play(looks, Settings(resumed=Beyond.RECOVER))
    recorded, transcript = looks[-1].launcher, world.transcript()
    launcher = replace(recorded, name=scene.name, file=str(Path(recorded.file).resolve()))
    began = looks[0].recorded_at
    assert began is not None
    assert not isinstance(transcript, Unknown)
    return Seen(
        launcher,
        scene.watch,
        Reports.of(story[-1].runs),
        LOOKED_AT,
        moved(transcript, NOW - scene.ago - began),
        bring_back=bring_back(launcher, AGENT_DIRECTORY),
    )


def moved(transcript: Transcript, seconds: float) -> Transcript:
    """With its keys written so much later."""
    return replace(transcript, keys=tuple(_moved(key, seconds) for key in transcript.keys))


def _moved(key: KeyEntry, seconds: float) -> KeyEntry:
    at = datetime.fromtimestamp(written_at(key) + seconds, UTC).isoformat()
    return replace(key, data={**key.data, "at": at})


# -- how it is drawn -------------------------------------------------------------------------------------------


def rows() -> list[tuple[str, Colour]]:
    with in_zone("UTC"):
        lines = [line for block in page(views(), NOW) for line in block.lines]
    return [
        (text, line.colour) for line in lines for text in wrapped(line.text, line.indent, WIDTH, line.joint)
    ]


@contextmanager
def in_zone(zone: str) -> Iterator[None]:
    """The page tells the time of the place it is shown at."""
    before = os.environ.get("TZ")
    try:
        _turn_to(zone)
        yield
    finally:
        _turn_to(before)


def _turn_to(zone: str | None) -> None:
    if zone is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = zone
    time.tzset()


def svg() -> str:
    drawn = rows()
    width, height = WIDTH * COLUMN + 2 * MARGIN, len(drawn) * ROW + 2 * MARGIN
    styles = "".join(f".{colour.name}{{{style}}}" for colour, style in STYLES.items())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}"'
        f' viewBox="0 0 {width:g} {height}" role="img">',
        "<title>strawboss status</title>",
        f"<style>text{{font:{FONT}px {CHARS};white-space:pre}}{styles}</style>",
        f'<rect width="{width:g}" height="{height}" rx="8" fill="#0d1117"/>',
        *(_text(number, text, colour) for number, (text, colour) in enumerate(drawn) if text),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _text(number: int, text: str, colour: Colour) -> str:
    """As wide as its columns are in whatever font there is."""
    shown = text.lstrip()
    left = MARGIN + (len(text) - len(shown)) * COLUMN
    return (
        f'<text x="{left:g}" y="{MARGIN + number * ROW + FONT}" class="{colour.name}"'
        f' textLength="{len(shown) * COLUMN:g}" lengthAdjust="spacingAndGlyphs">{escape(shown)}</text>'
    )
