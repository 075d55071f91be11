"""The recorded scenes, as the stories that the tests tell with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strawboss.recovery.commands import ClosePane, Command, SendIntercom, TellLauncher, WriteKey
from strawboss.recovery.settings import Settings
from strawboss.tape.moment import open_recording
from strawboss.tape.play import Told, play

RECORDED = Path(__file__).parents[2] / "fixtures" / "recorded"

# Run ids by the names in the recordings.
ALPHA_ONE, ALPHA_ONE_RESUMED = "4f8d9873", "9ced404c"
BETA, GAMMA, DELTA, ZETA, ETA = "a213437c", "0f238203", "a53a33eb", "cd2f2e5e", "4ccdd42f"
# Of the second restart of a day, which has a launcher of its own.
ETA_AGAIN, DELTA_TWO = "57060e45", "d1ccd7a2"
LAUNCHER = "01a23392-c4f6-76a6-87c2-4d480b13177c"

STORIES = {
    "delivered": ("deliver/1", "deliver/2", "deliver/2"),
    "nudged": ("nudge/1", "nudge/3", "nudge/3"),
    "ended by itself": ("nudge/3", "nudge/4", "nudge/4", "nudge/4"),
    "restored": ("restart/1", "restart/3", "restart/3"),
    "still starting": ("restart/1", "restart/2", "restart/3"),
    "a person's pi": ("byhand/1",) * 10,
}
STRANDED_AGAIN = ("second/1", "second/3", "second/3", "second/3")


def directory(moment: str, under: Path = RECORDED) -> Path:
    """`restart/3` → its directory; moments are known by scene and number."""
    scene, number = moment.split("/")
    return next((under / scene).glob(f"{number}-*"))


def tell(moments: Sequence[Path], platform: str = "linux", settings: Settings | None = None) -> list[Told]:
    story, _ = play([open_recording(moment, None, platform) for moment in moments], settings or Settings())
    return story


def effects(story: Sequence[Told]) -> list[Command]:
    return [command for told in story for command, _ in told.done]


def acts(story: Sequence[Told]) -> set[tuple[str, str]]:
    """What was done to whom, whatever the words."""
    done: set[tuple[str, str]] = set()
    for command in effects(story):
        match command:
            case ClosePane(pane):
                done.add(("close", pane))
            case SendIntercom(session, _, _):
                done.add(("send", session))
            case TellLauncher(_, runs, _):
                done |= {("tell", run) for run in runs}
            case WriteKey(key, run, _) if key != "seen":
                done.add((key, run))
    return done
