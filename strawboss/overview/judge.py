"""What was found, judged for a person: what needs somebody, what was recovered, what is under way, what is quiet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from strawboss.overview.seen import SETTLED, Seen, Watch
from strawboss.recovery.evidence import KeyEntry, Launcher, Transcript
from strawboss.recovery.keys import CLAIM, CONTINUED, GAVE_UP, LEFT, LOST, NUDGED, RESUMED, WARNED
from strawboss.recovery.memory import RunReport
from strawboss.recovery.nudge.machine import DONE as ASKED
from strawboss.recovery.restored.conditions import has_never_ended, has_something_left
from strawboss.recovery.restored.machine import DONE as HANDED_OVER
from strawboss.recovery.verdict import Answer, Unknown
from strawboss.recovery.wording import exactly

DAY_SECONDS = 86_400.0
WEEK_SECONDS = 7 * DAY_SECONDS
RELOAD = "/reload"
AT_WORK = "tracked"
CLOSED_STATES = frozenset({SETTLED}) | ASKED | HANDED_OVER
UNKNOWN_TIME = 0.0

# What a key says was done, as a person is told.
DONE: Mapping[str, str] = {
    NUDGED: "was asked for its report",
    RESUMED: "was handed back to its launcher",
    CONTINUED: "was told to go on",
}


@dataclass(frozen=True, slots=True)
class Need:
    """What a person has to do. `run`: empty when it is about the launcher itself. `command`: for a shell, or, where it
    begins with `/`, for its pi, or with `subagent_resume`, for the launcher to call; empty where `what` says it all."""

    launcher: Launcher
    run: str
    name: str
    what: str
    command: str


@dataclass(frozen=True, slots=True)
class Recovery:
    launcher: Launcher
    run: str
    name: str
    what: str
    at: float  # epoch seconds


@dataclass(frozen=True, slots=True)
class View:
    """One launcher for a person."""

    seen: Seen
    needs: tuple[Need, ...] = ()
    recovered: tuple[Recovery, ...] = ()
    under_way: tuple[RunReport, ...] = ()

    @property
    def is_quiet(self) -> bool:
        return not (self.needs or self.recovered or self.under_way)

    @property
    def at_work(self) -> int:
        return sum(run.state == AT_WORK for run in self.seen.runs.open)


def view(seen: Seen, now: float, since: float = WEEK_SECONDS) -> View:
    """`now`: epoch seconds. `since`: for how many seconds what needs a person is shown."""
    keys = _keys(seen)
    return View(
        seen,
        tuple(_needs(seen, keys, now, since)),
        tuple(_recovered(seen, keys, now)),
        () if seen.watch is Watch.CLOSED else tuple(run for run in seen.runs.open if run.stranded),
    )


def needs_of(views: Iterable[View]) -> tuple[Need, ...]:
    return tuple(need for one in views for need in one.needs)


def _keys(seen: Seen) -> tuple[KeyEntry, ...]:
    return () if isinstance(seen.transcript, Unknown) else seen.transcript.keys


# -- what needs a person ---------------------------------------------------------------------------------------


def _needs(seen: Seen, keys: tuple[KeyEntry, ...], now: float, since: float) -> Iterable[Need]:
    failed = list(_failed(seen, keys, now - since))
    said = {need.run for need in failed}
    yield from failed
    if seen.watch is Watch.CLOSED:
        yield from (_unreported(seen, run) for run in seen.runs if run.run not in said and is_unreported(run))
    elif seen.watch is Watch.HUNG:
        yield _about_launcher(
            seen, f"is not looked at: its strawboss hangs, since {duration(now - _looked(seen))}"
        )
    elif seen.watch is Watch.STOPPED and any(is_unreported(run) for run in seen.runs):
        yield _about_launcher(seen, "is not looked at: its pi runs without strawboss")


def is_unreported(run: RunReport) -> bool:
    """Open, or ended without a launcher to hear of it. What has been done for it is told by its keys."""
    return has_only_ended(run) or run.state not in CLOSED_STATES


def has_only_ended(run: RunReport) -> bool:
    return run.obstacle is not None and run.obstacle.is_of([has_never_ended])


def _unreported(seen: Seen, run: RunReport) -> Need:
    what = (
        "has ended unheard; its launcher is closed"
        if has_only_ended(run)
        else "has not reported; its launcher is closed"
    )
    return Need(seen.launcher, run.run, run.name, what, seen.bring_back)


def _about_launcher(seen: Seen, what: str) -> Need:
    return Need(seen.launcher, "", "", what, RELOAD)


def _looked(seen: Seen) -> float:
    return UNKNOWN_TIME if seen.looked_at is None else seen.looked_at


def _failed(seen: Seen, keys: tuple[KeyEntry, ...], oldest: float) -> Iterable[Need]:
    """Runs whose last word leaves them to a person, and that nobody has seen to since."""
    last = {entry.run: entry for entry in keys if entry.key in LEFT or entry.key in DONE}
    runs = _reports(seen, last)
    for run, entry in last.items():
        what = _what_failed(entry)
        if what and _is_new(entry, oldest) and not _is_seen_to(seen, run) and not _is_void(runs.get(run)):
            name = runs[run].name if run in runs else ""
            yield Need(seen.launcher, run, name, what, _by_hand(seen, entry))


def _reports(seen: Seen, wanted: Collection[str]) -> dict[str, RunReport]:
    """Of these runs, by id."""
    return {run.run: run for run in seen.runs if run.run in wanted} if wanted else {}


def _what_failed(entry: KeyEntry) -> str:
    """Nothing for one that was recovered, or whose recovery goes on by itself."""
    if entry.key == GAVE_UP:
        return f"was given up: {entry.data.get('why') or 'a step failed'}"
    if entry.key == LOST and entry.data.get("then") != CLAIM:
        return "was running and did not come back"
    return _where_it_waits(entry) if entry.key == WARNED else ""


def _where_it_waits(warned: KeyEntry) -> str:
    pane = warned.data.get("pane")
    place = f"its pane {pane}" if pane else "its pane"
    todo = f"close {place}, and" if warned.data.get("then") == CLAIM else f"go on with it in {place}"
    return f"is stranded again and left to you: {todo}"


def _is_new(entry: KeyEntry, oldest: float) -> bool:
    """One without a time counts as new."""
    return (written_at(entry) or float("inf")) >= oldest


def _is_seen_to(seen: Seen, run: str) -> bool:
    """Its session file has reported, or has been resumed, by a person or by its launcher, since the run began."""
    file, transcript = seen.sessions.get(run), seen.transcript
    if file is None or not isinstance(transcript, Transcript):
        return False
    began = max((one.at for one in transcript.resumes if one.run == run), default=None)
    if began is None:
        return file in transcript.results | transcript.pings | {
            one.session_file for one in transcript.resumes
        }
    later = [one.at for one in transcript.resumes if one.session_file == file]
    return max([transcript.results_at.get(file, began), *later]) > began


def _is_void(run: RunReport | None) -> bool:
    """Its worktree was removed or cancelled."""
    obstacle = run.obstacle if run is not None else None
    return obstacle is not None and obstacle.is_of([has_something_left]) and obstacle.answer is Answer.NO


def _by_hand(seen: Seen, entry: KeyEntry) -> str:
    if seen.watch is Watch.CLOSED:
        return seen.bring_back
    waits_in_its_pane = entry.key == WARNED and entry.data.get("then") != CLAIM
    return "" if waits_in_its_pane else _resume(seen, entry.run)


def _resume(seen: Seen, run: str) -> str:
    file = seen.sessions.get(run)
    return f"subagent_resume {exactly({'sessionPath': file})}" if file else seen.bring_back


# -- what was recovered ----------------------------------------------------------------------------------------


def _recovered(seen: Seen, keys: tuple[KeyEntry, ...], now: float) -> Iterable[Recovery]:
    last = {entry.run: entry for entry in keys if entry.key in DONE}
    runs = _reports(seen, last)
    for run, entry in last.items():
        at = written_at(entry)
        if now - at < DAY_SECONDS:
            name = runs[run].name if run in runs else ""
            yield Recovery(seen.launcher, run, name, DONE[entry.key], at)


def written_at(entry: KeyEntry) -> float:
    """Epoch seconds; 0 where the key has no time that can be read."""
    at = entry.data.get("at")
    try:
        return datetime.fromisoformat(at).timestamp() if isinstance(at, str) else UNKNOWN_TIME
    except (ValueError, OverflowError):
        return UNKNOWN_TIME


def duration(seconds: float) -> str:
    """`40 s`, `3 min`, `5 h`, `2 days`: as much as a glance needs."""
    for size, unit in ((DAY_SECONDS, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(int(seconds), 0)} s"
