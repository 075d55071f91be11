"""What was done for which run, when, and how it ended: from the keys in the sessions and the looks on the tapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from strawboss.recovery.evidence import KeyEntry, Launcher, Transcript
from strawboss.recovery.keys import (
    CLOSING,
    CONTINUED,
    GAVE_UP,
    LOST,
    NUDGED,
    RESUMED,
    SEEN,
    UNCLOSED,
    UNNUDGED,
    WARNED,
)
from strawboss.recovery.verdict import Unknown
from strawboss.runs.transcript import TranscriptReader
from strawboss.tape.codec import typed
from strawboss.tape.last import LastLook
from strawboss.tape.lines import ANSWERS
from strawboss.tape.reader import read_session
from strawboss.tape.taped_look import Spoken, TapedLook

# The act that each key stands before, by its command's name; none where the key is all there is.
ACT = {NUDGED: "SendIntercom", CLOSING: "ClosePane", CONTINUED: "SendIntercom"}
NO_TRANSCRIPT = Unknown("the tape has no look at the session")
NOT_DONE = (
    "failed",
    "it was not done: what was found before no longer held",
)
DONE, FAILED, NOT_KNOWN = "done", "failed", "not known"
SAID = {
    NUDGED: "it was asked for its report",
    UNNUDGED: "that question was taken back",
    CLOSING: "its restored pane was closed",
    UNCLOSED: "the close of its pane was taken back",
    CONTINUED: "it was told to go on in its worktree",
    RESUMED: "its launcher was told of it and has taken that in",
    GAVE_UP: "it was given up",
    LOST: "it was running and did not come back",
    WARNED: "it was stranded again and left to a person",
}


@dataclass(frozen=True, slots=True)
class Event:
    """`at`: epoch seconds. `what`: the key that was written; `outcome` of the act behind it: done, failed, not known.

    `why`: what the key or the failed act says. `reported`: a result of that run is in the launcher's session by now.
    """

    at: float
    session: str
    run: str
    name: str
    what: str
    outcome: str
    why: str = ""
    reported: bool = False

    @property
    def sentence(self) -> str:
        ended = {FAILED: ", which failed", NOT_KNOWN: ", and how that ended is not known"}.get(
            self.outcome, ""
        )
        because = f" ({self.why})" if self.why else ""
        after = "; its result has come since" if self.reported else ""
        return f"{SAID.get(self.what, f'its key {self.what} was written')}{ended}{because}{after}"


@dataclass(slots=True)
class Acts:
    """What a tape knows of the keys: how the act behind each ended, by (key, run, time as written)."""

    outcomes: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)
    entries: list[KeyEntry] = field(default_factory=list)
    transcript: Transcript | Unknown = NO_TRANSCRIPT


def history_of(last: LastLook) -> list[Event]:
    """All events of a launcher, oldest first. The keys are those of its session file, else those on its tape."""
    acts = _acts(read_session(last.session))
    transcript = _transcript(last.launcher)
    if isinstance(transcript, Unknown):
        transcript = acts.transcript
    entries = acts.entries if isinstance(transcript, Unknown) else _merged(transcript.keys, acts.entries)
    results = frozenset() if isinstance(transcript, Unknown) else transcript.results | transcript.pings
    names = {report.run: report.name for report in last.runs}
    events = [
        _event(
            entry,
            last.launcher,
            names.get(entry.run, ""),
            acts,
            any(f"_{entry.run}-" in one for one in results),
        )
        for entry in entries
        if entry.key != SEEN
    ]
    return sorted(events, key=lambda event: event.at)


def _merged(written: Iterable[KeyEntry], taped: Iterable[KeyEntry]) -> list[KeyEntry]:
    """Those of the session file, and those of the tape that are not in it (any more)."""
    known = [*written]
    there = {_id(entry) for entry in known}
    return [*known, *(entry for entry in taped if _id(entry) not in there)]


def _id(entry: KeyEntry) -> tuple[str, str, str]:
    return entry.key, entry.run, str(entry.data.get("at", ""))


def _event(entry: KeyEntry, launcher: Launcher, name: str, acts: Acts, reported: bool) -> Event:
    outcome, why = acts.outcomes.get(_id(entry), (NOT_KNOWN if entry.key in ACT else DONE, ""))
    return Event(
        _epoch(str(entry.data.get("at", ""))),
        launcher.id,
        entry.run,
        name,
        entry.key,
        outcome,
        why or str(entry.data.get("why", "")),
        reported,
    )


def _epoch(at: str) -> float:
    """0 for a key that does not say when it was written."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


def _transcript(launcher: Launcher) -> Transcript | Unknown:
    reader = TranscriptReader(launcher.file, lambda path: str(Path(launcher.cwd, path)), launcher.id)
    return reader.read()


def _acts(looks: Iterator[TapedLook]) -> Acts:
    acts = Acts()
    for look in looks:
        if look.ended and not any(one[0] == "WriteKey" for one in look.asked):
            continue
        _take(acts, look)
    return acts


def _take(acts: Acts, look: TapedLook) -> None:
    """Each key that was confirmed, and how the first act after it ended."""
    transcript = look.transcript()
    if isinstance(transcript, Transcript):
        acts.transcript = transcript
    for place, asked in enumerate(look.asked):
        if asked[0] == "WriteKey" and place < len(look.answers) and look.answers[place] is True:
            entry: KeyEntry = typed(asked[1], KeyEntry)
            acts.entries.append(entry)
            if entry.key in ACT:
                acts.outcomes[_id(entry)] = _outcome(look, place + 1, ACT[entry.key])


def _outcome(look: TapedLook, begin: int, act: str) -> tuple[str, str]:
    for place in range(begin, len(look.asked)):
        asked: Spoken = look.asked[place]
        if asked[0] == "WriteKey":
            return NOT_DONE
        if asked[0] == act:
            return _ended(look, place)
    return NOT_DONE


def _ended(look: TapedLook, place: int) -> tuple[str, str]:
    if place >= len(look.answers):
        return NOT_KNOWN, "the process ended meanwhile"
    result = typed(look.answers[place], ANSWERS[str(look.asked[place][0])])
    known = {"done": DONE, "failed": FAILED}
    return known.get(result.outcome.value, NOT_KNOWN), result.why
